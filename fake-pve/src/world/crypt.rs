//! `crypt` with SHA-256 (`$5$`), the form of passwords in `priv/shadow.cfg`.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Whether a password belongs to a stored hash. Other methods than `$5$` are not known and never match.
pub(super) fn is(stored: &str, password: &str) -> bool {
    let Some(rest) = stored.strip_prefix("$5$") else { return false };
    let (rounds, rest) = match rest.strip_prefix("rounds=").and_then(|rest| rest.split_once('$')) {
        Some((rounds, rest)) => (rounds.parse::<u32>().unwrap_or(5000).clamp(1000, 999_999), rest),
        None => (5000, rest),
    };
    let Some((salt, hash)) = rest.split_once('$') else { return false };
    hash_of(password.as_bytes(), salt.as_bytes(), rounds).as_bytes().ct_eq(hash.as_bytes()).into()
}

/// A password as it is stored, with a salt out of the source of invented values.
pub(crate) fn make(random: &mut super::Random, password: &str) -> String {
    let salt: String = (0..8).map(|_| char::from(ALPHABET[random.below(64) as usize])).collect();
    format!("$5${salt}${}", hash_of(password.as_bytes(), salt.as_bytes(), 5000))
}

/// The algorithm as it is published: password and salt are mixed, then hashed again `rounds` times.
fn hash_of(password: &[u8], salt: &[u8], rounds: u32) -> String {
    let salt = &salt[..salt.len().min(16)];
    let other = Sha256::new().chain_update(password).chain_update(salt).chain_update(password).finalize();
    let mut first =
        Sha256::new().chain_update(password).chain_update(salt).chain_update(repeated(&other, password.len()));
    let mut length = password.len();
    while length > 0 {
        first.update(if length & 1 == 1 { &other[..] } else { password });
        length >>= 1;
    }
    let mut digest = first.finalize();
    let mut of_password = Sha256::new();
    for _ in 0..password.len() {
        of_password.update(password);
    }
    let p = repeated(&of_password.finalize(), password.len());
    let mut of_salt = Sha256::new();
    for _ in 0..16 + usize::from(digest[0]) {
        of_salt.update(salt);
    }
    let s = repeated(&of_salt.finalize(), salt.len());
    for round in 0..rounds {
        let mut next = Sha256::new();
        next.update(if round & 1 == 1 { &p[..] } else { &digest[..] });
        if round % 3 != 0 {
            next.update(&s);
        }
        if round % 7 != 0 {
            next.update(&p);
        }
        next.update(if round & 1 == 1 { &digest[..] } else { &p[..] });
        digest = next.finalize();
    }
    encode(&digest)
}

fn repeated(block: &[u8], length: usize) -> Vec<u8> {
    block.iter().copied().cycle().take(length).collect()
}

/// Bytes in the order of the published format, six bits a letter, lowest first.
fn encode(digest: &[u8]) -> String {
    let mut text = String::with_capacity(43);
    let mut put = |value: u32, letters: u32| {
        (0..letters).for_each(|at| text.push(char::from(ALPHABET[(value >> (6 * at) & 63) as usize])));
    };
    let byte = |at: usize| u32::from(digest[at]);
    for step in 0..10 {
        let (a, b, c) = match step % 3 {
            0 => (step, step + 10, step + 20),
            1 => (step + 20, step, step + 10),
            _ => (step + 10, step + 20, step),
        };
        put(byte(a) << 16 | byte(b) << 8 | byte(c), 4);
    }
    put(byte(31) << 8 | byte(30), 3);
    text
}

#[cfg(test)]
mod tests {
    use super::is;

    #[test]
    fn published_hashes_match() {
        let stored = "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5";
        assert!(is(stored, "Hello world!"));
        assert!(!is(stored, "Hello world"));
        assert!(!is("$6$x$y", "x"));
    }
}
