"""Properties of TLS, SASL and delegation tokens, with Kafka's types and defaults."""

from __future__ import annotations

from broker.config.property import Kind, Property, Update, Value, refused, without_meaning

_Row = tuple[str, Kind, Value, Update]
_FIXED = Update.READ_ONLY
_PER_BROKER = Update.PER_BROKER
_CLUSTER_WIDE = Update.CLUSTER_WIDE

_PLAINTEXT_ONLY = "only PLAINTEXT listeners are served"
_NO_TOKENS = "delegation tokens are not offered here"
_NO_AUTHORIZER = "there is no authorizer here; leave it out to run without"

_TLS: tuple[_Row, ...] = (
    ("connections.max.reauth.ms", Kind.LONG, 0, _FIXED),
    ("password.encoder.cipher.algorithm", Kind.STRING, None, _FIXED),
    ("password.encoder.iterations", Kind.STRING, None, _FIXED),
    ("password.encoder.key.length", Kind.STRING, None, _FIXED),
    ("password.encoder.keyfactory.algorithm", Kind.STRING, None, _FIXED),
    ("password.encoder.old.secret", Kind.PASSWORD, None, _FIXED),
    ("password.encoder.secret", Kind.PASSWORD, None, _FIXED),
    (
        "principal.builder.class",
        Kind.CLASS,
        "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
        _PER_BROKER,
    ),
    ("security.providers", Kind.STRING, None, _FIXED),
    ("ssl.allow.dn.changes", Kind.BOOLEAN, False, _FIXED),
    ("ssl.allow.san.changes", Kind.BOOLEAN, False, _FIXED),
    ("ssl.cipher.suites", Kind.LIST, (), _PER_BROKER),
    ("ssl.client.auth", Kind.STRING, "none", _PER_BROKER),
    ("ssl.enabled.protocols", Kind.LIST, ("TLSv1.2", "TLSv1.3"), _PER_BROKER),
    ("ssl.endpoint.identification.algorithm", Kind.STRING, "https", _PER_BROKER),
    ("ssl.engine.factory.class", Kind.CLASS, None, _PER_BROKER),
    ("ssl.key.password", Kind.PASSWORD, None, _PER_BROKER),
    ("ssl.keymanager.algorithm", Kind.STRING, "SunX509", _PER_BROKER),
    ("ssl.keystore.certificate.chain", Kind.PASSWORD, None, _PER_BROKER),
    ("ssl.keystore.key", Kind.PASSWORD, None, _PER_BROKER),
    ("ssl.keystore.location", Kind.STRING, None, _PER_BROKER),
    ("ssl.keystore.password", Kind.PASSWORD, None, _PER_BROKER),
    ("ssl.keystore.type", Kind.STRING, "JKS", _PER_BROKER),
    ("ssl.principal.mapping.rules", Kind.STRING, "DEFAULT", _FIXED),
    ("ssl.protocol", Kind.STRING, "TLSv1.3", _PER_BROKER),
    ("ssl.provider", Kind.STRING, None, _PER_BROKER),
    ("ssl.secure.random.implementation", Kind.STRING, None, _PER_BROKER),
    ("ssl.trustmanager.algorithm", Kind.STRING, "PKIX", _PER_BROKER),
    ("ssl.truststore.certificates", Kind.PASSWORD, None, _PER_BROKER),
    ("ssl.truststore.location", Kind.STRING, None, _PER_BROKER),
    ("ssl.truststore.password", Kind.PASSWORD, None, _PER_BROKER),
    ("ssl.truststore.type", Kind.STRING, "JKS", _PER_BROKER),
)
_SASL: tuple[_Row, ...] = (
    ("sasl.client.callback.handler.class", Kind.CLASS, None, _FIXED),
    ("sasl.enabled.mechanisms", Kind.LIST, ("GSSAPI",), _PER_BROKER),
    ("sasl.jaas.config", Kind.PASSWORD, None, _PER_BROKER),
    ("sasl.kerberos.kinit.cmd", Kind.STRING, "/usr/bin/kinit", _PER_BROKER),
    ("sasl.kerberos.min.time.before.relogin", Kind.LONG, 60000, _PER_BROKER),
    ("sasl.kerberos.principal.to.local.rules", Kind.LIST, ("DEFAULT",), _PER_BROKER),
    ("sasl.kerberos.service.name", Kind.STRING, None, _PER_BROKER),
    ("sasl.kerberos.ticket.renew.jitter", Kind.DOUBLE, 0.05, _PER_BROKER),
    ("sasl.kerberos.ticket.renew.window.factor", Kind.DOUBLE, 0.8, _PER_BROKER),
    ("sasl.login.callback.handler.class", Kind.CLASS, None, _FIXED),
    ("sasl.login.class", Kind.CLASS, None, _FIXED),
    ("sasl.login.connect.timeout.ms", Kind.INT, None, _FIXED),
    ("sasl.login.read.timeout.ms", Kind.INT, None, _FIXED),
    ("sasl.login.refresh.buffer.seconds", Kind.SHORT, 300, _PER_BROKER),
    ("sasl.login.refresh.min.period.seconds", Kind.SHORT, 60, _PER_BROKER),
    ("sasl.login.refresh.window.factor", Kind.DOUBLE, 0.8, _PER_BROKER),
    ("sasl.login.refresh.window.jitter", Kind.DOUBLE, 0.05, _PER_BROKER),
    ("sasl.login.retry.backoff.max.ms", Kind.LONG, 10000, _FIXED),
    ("sasl.login.retry.backoff.ms", Kind.LONG, 100, _FIXED),
    ("sasl.mechanism.controller.protocol", Kind.STRING, "GSSAPI", _FIXED),
    ("sasl.mechanism.inter.broker.protocol", Kind.STRING, "GSSAPI", _PER_BROKER),
    ("sasl.oauthbearer.assertion.algorithm", Kind.STRING, "RS256", _FIXED),
    ("sasl.oauthbearer.assertion.claim.aud", Kind.STRING, None, _FIXED),
    ("sasl.oauthbearer.assertion.claim.exp.seconds", Kind.INT, 300, _FIXED),
    ("sasl.oauthbearer.assertion.claim.iss", Kind.STRING, None, _FIXED),
    ("sasl.oauthbearer.assertion.claim.jti.include", Kind.BOOLEAN, False, _FIXED),
    ("sasl.oauthbearer.assertion.claim.nbf.seconds", Kind.INT, 60, _FIXED),
    ("sasl.oauthbearer.assertion.claim.sub", Kind.STRING, None, _FIXED),
    ("sasl.oauthbearer.assertion.file", Kind.STRING, None, _FIXED),
    ("sasl.oauthbearer.assertion.private.key.file", Kind.STRING, None, _FIXED),
    ("sasl.oauthbearer.assertion.private.key.passphrase", Kind.PASSWORD, None, _FIXED),
    ("sasl.oauthbearer.assertion.template.file", Kind.STRING, None, _FIXED),
    ("sasl.oauthbearer.client.credentials.client.id", Kind.STRING, None, _FIXED),
    ("sasl.oauthbearer.client.credentials.client.secret", Kind.PASSWORD, None, _FIXED),
    ("sasl.oauthbearer.clock.skew.seconds", Kind.INT, 30, _FIXED),
    ("sasl.oauthbearer.expected.audience", Kind.LIST, (), _FIXED),
    ("sasl.oauthbearer.expected.issuer", Kind.STRING, None, _FIXED),
    ("sasl.oauthbearer.header.urlencode", Kind.STRING, None, _FIXED),
    ("sasl.oauthbearer.jwks.endpoint.refresh.ms", Kind.LONG, 3600000, _FIXED),
    ("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", Kind.LONG, 10000, _FIXED),
    ("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", Kind.LONG, 100, _FIXED),
    ("sasl.oauthbearer.jwks.endpoint.url", Kind.STRING, None, _FIXED),
    (
        "sasl.oauthbearer.jwt.retriever.class",
        Kind.CLASS,
        "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever",
        _FIXED,
    ),
    (
        "sasl.oauthbearer.jwt.validator.class",
        Kind.CLASS,
        "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
        _FIXED,
    ),
    ("sasl.oauthbearer.scope", Kind.STRING, None, _FIXED),
    ("sasl.oauthbearer.scope.claim.name", Kind.STRING, "scope", _FIXED),
    ("sasl.oauthbearer.sub.claim.name", Kind.STRING, "sub", _FIXED),
    ("sasl.oauthbearer.token.endpoint.url", Kind.STRING, None, _FIXED),
    ("sasl.server.callback.handler.class", Kind.CLASS, None, _FIXED),
    ("sasl.server.max.receive.size", Kind.INT, 524288, _FIXED),
)
_TOKENS: tuple[_Row, ...] = (
    ("delegation.token.expiry.check.interval.ms", Kind.LONG, 3600000, _FIXED),
    ("delegation.token.expiry.time.ms", Kind.LONG, 86400000, _FIXED),
    ("delegation.token.master.key", Kind.PASSWORD, None, _FIXED),
    ("delegation.token.max.lifetime.ms", Kind.LONG, 604800000, _FIXED),
    ("delegation.token.secret.key", Kind.PASSWORD, None, _FIXED),
)


def _rows(rows: tuple[_Row, ...], why: str) -> tuple[Property, ...]:
    return tuple(
        without_meaning(name, kind, default, why, update=update)
        for name, kind, default, update in rows
    )


PROPERTIES = (
    *_rows(_TLS + _SASL, _PLAINTEXT_ONLY),
    *_rows(_TOKENS, _NO_TOKENS),
    # A broker that ignored its authorizer would be open where its owner believes it is closed.
    refused("authorizer.class.name", _NO_AUTHORIZER),
    refused("super.users", _NO_AUTHORIZER),
    refused("allow.everyone.if.no.acl.found", _NO_AUTHORIZER),
)
