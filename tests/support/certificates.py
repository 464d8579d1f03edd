"""TLS certificates for services on this machine."""

from __future__ import annotations

import ipaddress
import ssl
from datetime import timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from askback.internal.clock import utc_now

DAY = timedelta(days=1)


class Authority:
    """A certificate authority that signs its own certificate."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _build_name("Authority of a test")
        built = _begin(self._name, self._name, self._key.public_key())
        built = built.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        self.file = folder / "authority.pem"
        self.file.write_bytes(built.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def issue(self, host: str) -> ssl.SSLContext:
        """Return the context of a server with a certificate for this name or address."""
        key = ec.generate_private_key(ec.SECP256R1())
        built = _begin(self._name, _build_name(host), key.public_key()).add_extension(
            _build_names(host), critical=False
        )
        return _build_context(self._folder / f"{host}.pem", built.sign(self._key, hashes.SHA256()), key)


def create_self_signed(folder: Path, host: str) -> ssl.SSLContext:
    """Return the context of a server that has signed its own certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _build_name(host)
    built = _begin(name, name, key.public_key()).add_extension(_build_names(host), critical=False)
    return _build_context(folder / "self-signed.pem", built.sign(key, hashes.SHA256()), key)


def _begin(issuer: x509.Name, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    begun = x509.CertificateBuilder(issuer, subject, key, x509.random_serial_number())
    return begun.not_valid_before(utc_now() - DAY).not_valid_after(utc_now() + DAY)


def _build_name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def _build_names(host: str) -> x509.SubjectAlternativeName:
    try:
        return x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host))])
    except ValueError:
        return x509.SubjectAlternativeName([x509.DNSName(host)])


def _build_context(file: Path, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> ssl.SSLContext:
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + secret)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context
