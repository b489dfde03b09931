//! A small source of invented values that is part of the world: same seed, same world. Not for secrets of a standing
//! server; those come from the system.

use serde::{Deserialize, Serialize};

/// A splitmix64 generator: one number of state, which serialises with the world.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `limit`; 0 when `limit` is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        if limit == 0 { 0 } else { self.bits() % limit }
    }

    /// `digits` hexadecimal digits.
    pub fn hex(&mut self, digits: usize) -> String {
        let mut text = String::with_capacity(digits + 16);
        while text.len() < digits {
            text.push_str(&format!("{:016x}", self.bits()));
        }
        text.truncate(digits);
        text
    }

    /// A random UUID in lower case.
    pub fn uuid(&mut self) -> String {
        let hex = self.hex(32);
        let variant = ["8", "9", "a", "b"][self.below(4) as usize];
        format!("{}-{}-4{}-{variant}{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..])
    }

    /// A unicast MAC address in upper case that begins with `prefix` (`BC:24:11`).
    pub fn mac(&mut self, prefix: &str) -> String {
        let mut bytes: Vec<String> = prefix.split(':').filter(|part| part.len() == 2).map(str::to_uppercase).collect();
        while bytes.len() < 6 {
            bytes.push(self.hex(2).to_uppercase());
        }
        bytes.truncate(6);
        bytes.join(":")
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn values_have_their_form() {
        let mut random = Random(7);
        let uuid = random.uuid();
        assert_eq!(uuid.len(), 36, "{uuid}");
        assert_eq!(uuid.as_bytes()[14], b'4');
        let mac = random.mac("BC:24:11");
        assert!(mac.starts_with("BC:24:11:") && mac.len() == 17, "{mac}");
        assert_eq!(Random(7).uuid(), uuid);
    }
}
