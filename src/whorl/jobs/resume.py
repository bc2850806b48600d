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
from whorl.savepoints.hosts import BegunQuery, kept_by_query, starts_of, unmoved
from whorl.savepoints.life import Former, FormerComponent
from whorl.savepoints.manifest import Manifest
from whorl.savepoints.save import query_path, state_path
from whorl.spark.folder import Folder
from whorl.tasks.control import news_end
from whorl.tasks.driver import refuse_second
from whorl.tasks.layout import Layout
from whorl.tasks.register import ComponentEntry, Holder, QueryEntry, Registration, read_registration


def resume_from(
    session: SparkSession, plan: Plan, folder: Folder, manifest: Manifest, holder: Holder | None = None
) -> None:
    """From now on the pipeline is what the savepoint says."""
    settings = plan.settings
    cluster = Cluster(clients_of(settings))
    make_own_topics(manifest.pipeline, cluster, settings)
    registration = read_registration(cluster.clients, manifest.pipeline)
    refuse_second(cluster.clients, registration, settings, news_end(cluster, manifest.pipeline), holder)
    # All that is between components is written with the register: what there is of it must fit into one transaction.
    longest = int(cluster.broker_config().get("transaction.max.timeout.ms", "60000")) / 1000
    with Hold(cluster, manifest.pipeline, settings.heartbeat, longest, holder) as hold:
        hold.driver.fence()
        former = in_savepoint(session, cluster, folder, manifest, cluster.replication(settings.replication))
        moves = _Moves(session, plan, survey(plan, cluster, None), folder, manifest)
        Interlude(session, cluster, hold.driver, settings).begin_anew(moves.rehosted(former))


def on_former_hosts(plan: Plan, saved: Registration) -> Plan:
    """What it would be if no component had moved to the other host: so it can be compared with what was saved."""
    tasks, queries = dict.fromkeys(saved.components, Host.TASKS), dict.fromkeys(saved.queries, Host.QUERY)
    hosts = {**tasks, **queries}
    components = (replace(each, host=hosts.get(each.id, each.host)) for each in plan.components)
    return replace(plan, components=tuple(components))


class _Moves:
    """Components that the savepoint has on one host and the plan on the other."""

    def __init__(self, session: SparkSession, plan: Plan, ground: Ground, folder: Folder, manifest: Manifest) -> None:
        self._session, self._plan, self._ground = session, plan, ground
        self._folder, self._manifest = folder, manifest

    def rehosted(self, former: Former) -> Former:
        self._refuse_under_way()
        components, queries = dict(former.components), dict(former.queries)
        for component in self._plan.on(Host.QUERY):
            if components.pop(component.id, None) is not None:
                queries[component.id] = self._to_query(component)
        for component in self._plan.on(Host.TASKS):
            if queries.pop(component.id, None) is not None:
                components[component.id] = self._to_tasks(component)
        return replace(former, components=components, queries=queries)

    def _refuse_under_way(self) -> None:
        """Between tasks records have another form than where a query is at one of the ends."""
        for component in self._plan.components:
            for topic in self._plan.edges_into(component):
                writers = [each for each in self._plan.components if topic in (out.topic for out in each.outputs)]
                ends = (component, *writers)
                was = any(each.id in self._manifest.queries for each in ends)
                saved = self._manifest.edges.get(topic)
                if saved and saved.records and was != any(each.is_query for each in ends):
                    why = f"{saved.records} records of '{topic}' are on their way to it in the form of the other host"
                    raise unmoved(component.id, why)

    def _to_query(self, component: Component) -> BegunQuery:
        id, plan, saved = component.id, self._plan, self._manifest.components[component.id]
        if alone := [operator for operator in saved.entry.kept if operator not in component.keyed]:
            raise unmoved(id, f"what '{alone[0]}' keeps has a form in tasks that a query cannot read")
        starts = starts_of(id, self._ground.topics[id], saved.positions)
        manifest = first_manifest(plan.pipeline, "", component, plan.settings, starts)
        state = self._session.read.parquet(state_path(self._folder, id))
        return BegunQuery(QueryEntry.of(plan, component, manifest.fingerprint), manifest, state)

    def _to_tasks(self, component: Component) -> FormerComponent:
        id, plan, ground = component.id, self._plan, self._ground
        read = [topic for topics in ground.topics[id].values() for topic in topics]
        if twice := [topic for topic in read if read.count(topic) > 1]:
            raise unmoved(id, f"several of its inputs read '{twice[0]}', in a query each up to a place of its own")
        layout = Layout(0, plan.settings.tasks or 1, ground.lps[id])
        entry = ComponentEntry(
            layout,
            topics=tuple(sorted(read)),
            kept=component.kept,
            versions=component.versions,
            edges=plan.edges_into(component),
            group=component.group,
            types=component.types,
            states=component.states,
        )
        saved = Checkpoint(self._session, query_path(self._folder, id))
        return kept_by_query(self._session, id, saved, entry)
