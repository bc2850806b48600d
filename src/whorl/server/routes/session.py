"""The session of a browser: opened with a token, kept in a cookie that no script can read."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from whorl.errors import UsageError
from whorl.server.access import SESSION_SECONDS, Access, Role
from whorl.server.bodies import Login, Session
from whorl.server.routes.common import COOKIE, PROBLEMS, role_of

router = APIRouter(prefix="/session", tags=["session"], responses=PROBLEMS)


@router.get("")
def session(request: Request) -> Session:
    """Who is asking; 401 without a session or token."""
    access: Access = request.app.state.access
    role = role_of(request)
    if role is None:
        raise UsageError("nobody is signed in", hint="POST /session with a token", code="token")
    cookie = request.cookies.get(COOKIE, "")
    return Session(role=role.word, csrf=access.csrf(cookie) if cookie else "", open=access.open)


@router.post("", response_model=Session)
def sign_in(login: Login, request: Request) -> Response:
    """Open a session with a token."""
    access: Access = request.app.state.access
    role = Role.ADMIN if access.open else access.role(login.token)
    if role is None:
        raise UsageError("this token is not known", hint="ask who runs the server for one", code="token")
    cookie = access.session(role)
    said = Session(role=role.word, csrf=access.csrf(cookie), open=access.open)
    response = JSONResponse(said.model_dump())
    secure = request.url.scheme == "https"
    response.set_cookie(
        COOKIE, cookie, max_age=int(SESSION_SECONDS), httponly=True, samesite="strict", secure=secure, path="/"
    )
    return response


@router.delete("", status_code=204)
def sign_out() -> Response:
    """Close the session of this browser."""
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict", path="/")
    return response
