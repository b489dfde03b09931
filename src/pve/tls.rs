//! How the server's certificate is verified. One verifier for every way, because whatever fails, a person needs the
//! fingerprint of the certificate that was seen.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme};
use sha2::{Digest, Sha256};

use crate::config::Tls;
use crate::error::{Code, Fault};

/// A certificate that was not accepted: which, and why. Travels inside the TLS error.
#[derive(Debug)]
pub(super) struct Untrusted {
    /// SHA-256 of the certificate that the server showed.
    pub fingerprint: String,
    /// Why not.
    pub why: Distrust,
}

/// Why a certificate was not accepted.
#[derive(Debug)]
pub(super) enum Distrust {
    /// Another fingerprint is pinned: this one.
    NotThePinned(String),
    /// The authorities do not vouch for it.
    Verification(rustls::Error),
}

impl std::fmt::Display for Untrusted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the certificate {} is not accepted", self.fingerprint)
    }
}

impl std::error::Error for Untrusted {}

/// TLS settings of a client, with `ring` named by hand: no process-wide provider is needed.
///
/// # Errors
/// When the CA file or the system's authorities cannot be read.
pub(super) fn config(tls: &Tls) -> Result<ClientConfig, Fault> {
    let provider = Arc::new(ring::default_provider());
    let trust = match tls {
        Tls::System => Trust::Authorities(system(&provider)?),
        Tls::CaFile(file) => Trust::Authorities(authority(file, &provider)?),
        Tls::Fingerprint(pin) => Trust::Pinned(*pin),
        Tls::Off => Trust::Anything,
    };
    let verifier = Arc::new(Verifier { trust, provider: provider.clone() });
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Fault::new(Code::Internal, format!("TLS cannot be set up: {error}")))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(config)
}

fn system(provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>, Fault> {
    let verifier = rustls_platform_verifier::Verifier::new(provider.clone()).map_err(|error| {
        Fault::new(Code::TlsUntrusted, format!("the system's certificate authorities cannot be read: {error}"))
            .hint("install them (package ca-certificates), or set PROXMOX_CA_FILE or PROXMOX_FINGERPRINT")
    })?;
    Ok(Arc::new(verifier))
}

fn authority(file: &Path, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>, Fault> {
    let unusable = |why: String| {
        Fault::new(Code::TlsUntrusted, format!("the CA file {} cannot be used: {why}", file.display()))
            .hint("PROXMOX_CA_FILE takes a PEM file, such as /etc/pve/pve-root-ca.pem of a node")
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| unusable(error.to_string()))? {
        let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
        roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(unusable("it holds no certificate".into()));
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        .map_err(|error| unusable(error.to_string()))?;
    Ok(verifier)
}

/// `AA:BB:…` as `pvenode cert info` prints it.
pub fn fingerprint(sha256: &[u8]) -> String {
    sha256.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
}

#[derive(Debug)]
enum Trust {
    Authorities(Arc<dyn ServerCertVerifier>),
    Pinned([u8; 32]),
    Anything,
}

/// Decides by `trust` which certificate is the right one; that the server holds its key is always verified.
#[derive(Debug)]
struct Verifier {
    trust: Trust,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let seen: [u8; 32] = Sha256::digest(end_entity.as_ref()).into();
        let why = match &self.trust {
            Trust::Anything => return Ok(ServerCertVerified::assertion()),
            Trust::Pinned(pin) if *pin == seen => return Ok(ServerCertVerified::assertion()),
            Trust::Pinned(pin) => Distrust::NotThePinned(fingerprint(pin)),
            Trust::Authorities(authorities) => {
                match authorities.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
                    Ok(verified) => return Ok(verified),
                    Err(error) => Distrust::Verification(error),
                }
            }
        };
        let untrusted = Untrusted { fingerprint: fingerprint(&seen), why };
        Err(CertificateError::Other(OtherError(Arc::new(untrusted))).into())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl Untrusted {
    /// The fault for it; `host` is the name or address that was connected to.
    pub(super) fn fault(&self, host: &str) -> Fault {
        let fault = match &self.why {
            Distrust::NotThePinned(pinned) => Fault::new(
                Code::TlsFingerprintMismatch,
                format!("the certificate of {host} has fingerprint {}, pinned is {pinned}", self.fingerprint),
            )
            .hint(
                "was the certificate renewed? compare with 'pvenode cert info' on the node, over a channel you trust, \
                 before you change PROXMOX_FINGERPRINT; otherwise somebody stands in between",
            )
            .detail("pinned", pinned.clone()),
            Distrust::Verification(error) => self.unverified(host, error),
        };
        fault.detail("fingerprint", self.fingerprint.clone())
    }

    fn unverified(&self, host: &str, error: &rustls::Error) -> Fault {
        let (why, hint) = reason(host, error);
        let pin = format!(
            "{hint}; or compare the fingerprint with 'pvenode cert info' on the node and set PROXMOX_FINGERPRINT={}",
            self.fingerprint
        );
        let message = format!("the certificate of {host} cannot be verified: {why} (fingerprint {})", self.fingerprint);
        Fault::new(Code::TlsUntrusted, message).hint(pin)
    }
}

/// What is wrong with the certificate, and what helps.
fn reason(host: &str, error: &rustls::Error) -> (String, &'static str) {
    const NAME: &str = "use a name that the certificate holds in PROXMOX_URL";
    const CA: &str = "set PROXMOX_CA_FILE to the cluster's /etc/pve/pve-root-ca.pem";
    const RENEW: &str = "renew it ('pvecm updatecerts --force' on the node) and check the clocks of both machines";
    let rustls::Error::InvalidCertificate(certificate) = error else { return (error.to_string(), CA) };
    match certificate {
        CertificateError::UnknownIssuer => ("its issuer is not a known authority".into(), CA),
        CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => (
            "it names its host in the common name only, which no client accepts any more".into(),
            "make a new certificate with subject alternative names",
        ),
        CertificateError::NotValidForNameContext { expected: ServerName::IpAddress(_), presented } => {
            (format!("the address {host} is not in it, it is made out to {}", names(presented)), NAME)
        }
        CertificateError::NotValidForNameContext { presented, .. } => {
            (format!("it is not made out to {host} but to {}", names(presented)), NAME)
        }
        CertificateError::NotValidForName => (format!("it is not made out to {host}"), NAME),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => ("it has expired".into(), RENEW),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            ("it is not valid yet".into(), RENEW)
        }
        CertificateError::Revoked => ("it has been revoked".into(), RENEW),
        CertificateError::BadSignature => ("its signature is wrong".into(), CA),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            ("it is not meant for servers".into(), "make a certificate with the extended key usage serverAuth")
        }
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => (
            "it is an authority's own certificate, used as a server's".into(),
            "make a certificate that is no authority",
        ),
        other => (other.to_string(), CA),
    }
}

fn names(presented: &[String]) -> String {
    // `DnsName("pve1.example")` -> `pve1.example`
    let inner = |name: &String| name.split('"').nth(1).map_or_else(|| name.clone(), str::to_string);
    presented.iter().take(5).map(inner).collect::<Vec<_>>().join(", ")
}
