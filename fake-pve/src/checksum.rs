//! Checksums by the names that Proxmox gives them.

use sha2::digest::DynDigest;

/// A checksum that is being computed.
pub(crate) struct Checksum(Box<dyn DynDigest + Send>);

impl Checksum {
    /// `md5`, `sha1`, `sha224`, `sha256`, `sha384`, `sha512`.
    pub fn new(algorithm: &str) -> Option<Checksum> {
        Some(Checksum(match algorithm {
            "md5" => Box::<md5::Md5>::default(),
            "sha1" => Box::<sha1::Sha1>::default(),
            "sha224" => Box::<sha2::Sha224>::default(),
            "sha256" => Box::<sha2::Sha256>::default(),
            "sha384" => Box::<sha2::Sha384>::default(),
            "sha512" => Box::<sha2::Sha512>::default(),
            _ => return None,
        }))
    }

    /// That of some bytes; an unknown algorithm has the empty one.
    pub fn of(algorithm: &str, bytes: &[u8]) -> String {
        let Some(mut checksum) = Checksum::new(algorithm) else { return String::new() };
        checksum.update(bytes);
        checksum.finish()
    }

    /// Takes more bytes in.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum in lower-case hexadecimal digits.
    pub fn finish(mut self) -> String {
        let mut bytes = vec![0; self.0.output_size()];
        // The buffer has the size that the digest asked for, so this cannot fail.
        let _filled = self.0.finalize_into_reset(&mut bytes);
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Checksum;

    #[test]
    fn checksums_are_the_known_ones() {
        let of = |algorithm: &str| {
            let mut checksum = Checksum::new(algorithm).expect("an algorithm");
            checksum.update(b"x");
            checksum.finish()
        };
        assert_eq!(of("md5"), "9dd4e461268c8034f5c8564e155c67a6");
        assert_eq!(of("sha1"), "11f6ad8ec52a2984abaafd7c3b516503785c2072");
        assert_eq!(of("sha256"), "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881");
        assert!(Checksum::new("crc32").is_none());
    }
}
