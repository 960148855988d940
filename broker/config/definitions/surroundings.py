"""Properties of what stands around Kafka's core: security, reporters, remote storage, telemetry."""

from __future__ import annotations

from broker.config.property import Kind, refused, without_meaning

_PLAINTEXT_ONLY = "only PLAINTEXT listeners are served"
_NO_REMOTE = "records are stored in log.dirs only"
_NO_CLASSES = "Java classes cannot be loaded here; metrics are at reference.metrics.listener"
_NO_TOKENS = "delegation tokens are not offered here"

_SECRETS = (
    "sasl.jaas.config",
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.password",
    "ssl.truststore.certificates",
    "ssl.truststore.password",
    "password.encoder.secret",
    "password.encoder.old.secret",
)
_SSL = (
    "ssl.allow.dn.changes",
    "ssl.allow.san.changes",
    "ssl.cipher.suites",
    "ssl.client.auth",
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
    "ssl.engine.factory.class",
    "ssl.keymanager.algorithm",
    "ssl.keystore.location",
    "ssl.keystore.type",
    "ssl.principal.mapping.rules",
    "ssl.protocol",
    "ssl.provider",
    "ssl.secure.random.implementation",
    "ssl.trustmanager.algorithm",
    "ssl.truststore.location",
    "ssl.truststore.type",
    "security.providers",
    "principal.builder.class",
    "connections.max.reauth.ms",
    "password.encoder.cipher.algorithm",
    "password.encoder.iterations",
    "password.encoder.key.length",
    "password.encoder.keyfactory.algorithm",
)
_SASL = (
    "sasl.client.callback.handler.class",
    "sasl.enabled.mechanisms",
    "sasl.kerberos.kinit.cmd",
    "sasl.kerberos.min.time.before.relogin",
    "sasl.kerberos.principal.to.local.rules",
    "sasl.kerberos.service.name",
    "sasl.kerberos.ticket.renew.jitter",
    "sasl.kerberos.ticket.renew.window.factor",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.login.connect.timeout.ms",
    "sasl.login.read.timeout.ms",
    "sasl.login.refresh.buffer.seconds",
    "sasl.login.refresh.min.period.seconds",
    "sasl.login.refresh.window.factor",
    "sasl.login.refresh.window.jitter",
    "sasl.login.retry.backoff.max.ms",
    "sasl.login.retry.backoff.ms",
    "sasl.mechanism.controller.protocol",
    "sasl.mechanism.inter.broker.protocol",
    "sasl.oauthbearer.clock.skew.seconds",
    "sasl.oauthbearer.expected.audience",
    "sasl.oauthbearer.expected.issuer",
    "sasl.oauthbearer.header.urlencode",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
    "sasl.oauthbearer.jwks.endpoint.url",
    "sasl.oauthbearer.scope.claim.name",
    "sasl.oauthbearer.sub.claim.name",
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.server.callback.handler.class",
    "sasl.server.max.receive.size",
)
_REMOTE = (
    "log.local.retention.bytes",
    "log.local.retention.ms",
    "remote.fetch.max.wait.ms",
    "remote.list.offsets.request.timeout.ms",
    "remote.log.index.file.cache.total.size.bytes",
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.copy.max.bytes.per.second",
    "remote.log.manager.copy.quota.window.num",
    "remote.log.manager.copy.quota.window.size.seconds",
    "remote.log.manager.expiration.thread.pool.size",
    "remote.log.manager.fetch.max.bytes.per.second",
    "remote.log.manager.fetch.quota.window.num",
    "remote.log.manager.fetch.quota.window.size.seconds",
    "remote.log.manager.follower.thread.pool.size",
    "remote.log.manager.task.interval.ms",
    "remote.log.manager.task.retry.backoff.max.ms",
    "remote.log.manager.task.retry.backoff.ms",
    "remote.log.manager.task.retry.jitter",
    "remote.log.manager.thread.pool.size",
    "remote.log.metadata.custom.metadata.max.bytes",
    "remote.log.metadata.manager.class.name",
    "remote.log.metadata.manager.class.path",
    "remote.log.metadata.manager.impl.prefix",
    "remote.log.metadata.manager.listener.name",
    "remote.log.reader.max.pending.tasks",
    "remote.log.reader.threads",
    "remote.log.storage.manager.class.name",
    "remote.log.storage.manager.class.path",
    "remote.log.storage.manager.impl.prefix",
    "remote.log.storage.system.enable",
)
_REPORTERS = (
    "auto.include.jmx.reporter",
    "kafka.metrics.polling.interval.secs",
    "kafka.metrics.reporters",
    "metric.reporters",
    "metrics.num.samples",
    "metrics.recording.level",
    "metrics.sample.window.ms",
    "telemetry.max.bytes",
    "explicit.feature.versions",
    "config.providers",
)
_TOKENS = (
    "delegation.token.expiry.check.interval.ms",
    "delegation.token.expiry.time.ms",
    "delegation.token.max.lifetime.ms",
)

PROPERTIES = (
    *(without_meaning(name, Kind.PASSWORD, None, _PLAINTEXT_ONLY) for name in _SECRETS),
    *(without_meaning(name, Kind.STRING, None, _PLAINTEXT_ONLY) for name in _SSL + _SASL),
    *(without_meaning(name, Kind.STRING, None, _NO_REMOTE) for name in _REMOTE),
    *(without_meaning(name, Kind.STRING, None, _NO_CLASSES) for name in _REPORTERS),
    *(without_meaning(name, Kind.STRING, None, _NO_TOKENS) for name in _TOKENS),
    without_meaning("delegation.token.secret.key", Kind.PASSWORD, None, _NO_TOKENS),
    without_meaning("delegation.token.master.key", Kind.PASSWORD, None, _NO_TOKENS),
    # A broker that ignored its authorizer would be open where its owner believes it is closed.
    refused("authorizer.class.name", "there is no authorizer here; leave it out to run without"),
    refused("super.users", "there is no authorizer here; leave it out to run without"),
    refused(
        "allow.everyone.if.no.acl.found", "there is no authorizer here; leave it out to run without"
    ),
)
