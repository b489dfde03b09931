//! The cluster's own certificate authority and the certificate of its entry node.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use sha2::{Digest, Sha256};

use crate::Error;

/// A certificate authority: its certificate and key as PEM, so that it can outlive one server.
#[derive(Clone)]
pub struct Ca {
    certificate: String,
    key: String,
}

/// What the server presents.
pub(crate) struct Leaf {
    pub config: Arc<ServerConfig>,
    /// The certificate as PEM.
    pub pem: String,
    /// SHA-256 of the certificate in Proxmox's form: `AA:BB:…`.
    pub fingerprint: String,
}

impl Ca {
    /// A new authority.
    ///
    /// # Errors
    /// [`Error::Certificate`] when the certificate cannot be made.
    pub fn generate() -> Result<Ca, Error> {
        let key = KeyPair::generate()?;
        let certificate = authority()?.self_signed(&key)?;
        Ok(Ca { certificate: certificate.pem(), key: key.serialize_pem() })
    }

    /// Its certificate as PEM: what a client's CA file holds.
    pub fn pem(&self) -> &str {
        &self.certificate
    }

    pub(crate) fn leaf(&self, names: Vec<String>) -> Result<Leaf, Error> {
        let issuer = Issuer::new(authority()?, KeyPair::from_pem(&self.key)?);
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::OrganizationName, "PVE Cluster Node");
        params.distinguished_name.push(DnType::CommonName, "fake-pve");
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &issuer)?;
        let fingerprint = fingerprint(certificate.der());
        let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Leaf { config: Arc::new(config), pem: certificate.pem(), fingerprint })
    }
}

fn authority() -> Result<CertificateParams, Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.distinguished_name.push(DnType::CommonName, "Proxmox Virtual Environment");
    params.distinguished_name.push(DnType::OrganizationName, "PVE Cluster Manager CA");
    Ok(params)
}

fn fingerprint(der: &[u8]) -> String {
    Sha256::digest(der).iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
}
