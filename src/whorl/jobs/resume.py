"""From a savepoint to a pipeline that can be run."""

from __future__ import annotations

from pyspark.sql import SparkSession

from whorl.config.settings import Settings
from whorl.jobs.address import clients_of
from whorl.jobs.ground import make_own_topics
from whorl.jobs.hold import Hold
from whorl.jobs.interlude import Interlude
from whorl.kafka.topics import Cluster
from whorl.savepoints.manifest import Manifest
from whorl.spark.folder import Folder
from whorl.tasks.control import news_end
from whorl.tasks.driver import refuse_second
from whorl.tasks.register import read_registration


def resume_from(session: SparkSession, settings: Settings, folder: Folder, manifest: Manifest) -> None:
    cluster = Cluster(clients_of(settings))
    make_own_topics(manifest.pipeline, cluster, settings)
    registration = read_registration(cluster.clients, manifest.pipeline)
    refuse_second(cluster.clients, registration, settings, news_end(cluster, manifest.pipeline))
    with Hold(cluster, manifest.pipeline, settings.heartbeat) as hold:
        Interlude(session, cluster, hold.driver, settings).resume(folder, manifest)
