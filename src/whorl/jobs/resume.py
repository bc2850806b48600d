"""From a savepoint to a pipeline that can be run, also where its file has given a component another host."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

from whorl.jobs.address import clients_of
from whorl.jobs.ground import Ground, make_own_topics, survey
from whorl.jobs.hold import Hold
from whorl.jobs.interlude import Interlude
from whorl.kafka.topics import Cluster
from whorl.plan.plan import Component, Host, Plan
from whorl.query.assignment import first_manifest
from whorl.query.checkpoint import Checkpoint
from whorl.savepoints.former import in_savepoint
from whorl.savepoints.hosts import BegunQuery, kept_by_query, starts_of
from whorl.savepoints.life import Former, FormerComponent
from whorl.savepoints.manifest import Manifest
from whorl.savepoints.save import query_path, state_path
from whorl.spark.folder import Folder
from whorl.tasks.control import news_end
from whorl.tasks.driver import refuse_second
from whorl.tasks.layout import Layout
from whorl.tasks.register import ComponentEntry, QueryEntry, Registration, read_registration


def resume_from(session: SparkSession, plan: Plan, folder: Folder, manifest: Manifest) -> None:
    """From now on the pipeline is what the savepoint says."""
    settings = plan.settings
    cluster = Cluster(clients_of(settings))
    make_own_topics(manifest.pipeline, cluster, settings)
    registration = read_registration(cluster.clients, manifest.pipeline)
    refuse_second(cluster.clients, registration, settings, news_end(cluster, manifest.pipeline))
    with Hold(cluster, manifest.pipeline, settings.heartbeat) as hold:
        hold.driver.fence()
        former = in_savepoint(session, cluster, folder, manifest, cluster.replication(settings.replication))
        moves = _Moves(session, plan, survey(plan, cluster, None), folder, manifest)
        Interlude(session, cluster, hold.driver, settings).begin_anew(moves.rehosted(former))


def at_home(registration: Registration, plan: Plan) -> Registration:
    """What it says of components that stay on their host."""
    queries = {component.id for component in plan.on(Host.QUERY)}
    stay = {id: entry for id, entry in registration.components.items() if id not in queries}
    return replace(registration, components=stay)


class _Moves:
    """Components that the savepoint has on one host and the plan on the other."""

    def __init__(self, session: SparkSession, plan: Plan, ground: Ground, folder: Folder, manifest: Manifest) -> None:
        self._session, self._plan, self._ground = session, plan, ground
        self._folder, self._manifest = folder, manifest

    def rehosted(self, former: Former) -> Former:
        components, queries = dict(former.components), dict(former.queries)
        for component in self._plan.on(Host.QUERY):
            if components.pop(component.id, None) is not None:
                queries[component.id] = self._to_query(component)
        for component in self._plan.on(Host.TASKS):
            if queries.pop(component.id, None) is not None:
                components[component.id] = self._to_tasks(component)
        return replace(former, components=components, queries=queries)

    def _to_query(self, component: Component) -> BegunQuery:
        id, plan = component.id, self._plan
        topics = self._ground.topics[id]
        starts = starts_of(id, topics, self._manifest.components[id].positions)
        manifest = first_manifest(plan.pipeline, "", component, plan.settings, starts)
        entry = QueryEntry(plan.edges_into(component), component.group)
        return BegunQuery(entry, manifest, self._session.read.parquet(state_path(self._folder, id)))

    def _to_tasks(self, component: Component) -> FormerComponent:
        id, plan, ground = component.id, self._plan, self._ground
        topics = tuple(sorted(ground.read_by(component)))
        layout = Layout(0, plan.settings.tasks or 1, ground.lps[id])
        kept = (component.kept, component.versions)
        entry = ComponentEntry(layout, (), topics, *kept, plan.edges_into(component), component.group)
        saved = Checkpoint(self._session, query_path(self._folder, id))
        return kept_by_query(self._session, id, saved, entry)
