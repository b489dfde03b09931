//! One-time passwords: the `otpauth:` URL of an authenticator, and its passwords over time.

use ring::hmac;

/// An authenticator.
pub(crate) struct Totp {
    secret: Vec<u8>,
    algorithm: hmac::Algorithm,
    digits: u32,
    period: i64,
}

impl Totp {
    /// Reads `otpauth://totp/issuer:account?secret=…&digits=6&period=30&algorithm=SHA1`.
    ///
    /// # Errors
    /// What is wrong with the URL.
    pub fn parse(url: &str) -> Result<Totp, String> {
        let rest = url.strip_prefix("otpauth://totp/").ok_or("not an otpauth uri")?;
        let (_, query) = rest.split_once('?').ok_or("missing '?' in otp uri")?;
        let mut totp =
            Totp { secret: Vec::new(), algorithm: hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, digits: 6, period: 30 };
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            match key.as_ref() {
                "secret" => totp.secret = base32(&value).ok_or("failed to decode otp secret in otpauth url")?,
                "digits" => totp.digits = number(&value, 1..=9).ok_or("failed to parse digits in otpauth url")? as u32,
                "period" => totp.period = number(&value, 1..=86_400).ok_or("failed to parse period in otpauth url")?,
                "algorithm" => totp.algorithm = algorithm(&value).ok_or("unsupported algorithm in otpauth url")?,
                _ => {}
            }
        }
        if totp.secret.is_empty() { Err("missing secret in otpauth url".into()) } else { Ok(totp) }
    }

    /// The step of time in which a password is right: the present one, the one before or the one after.
    pub fn step_of(&self, password: &str, now: i64) -> Option<i64> {
        let step = now.div_euclid(self.period);
        (step - 1..=step + 1).find(|step| self.password(*step) == password.trim())
    }

    /// The password of a moment.
    #[cfg(test)]
    pub fn at(&self, now: i64) -> String {
        self.password(now.div_euclid(self.period))
    }

    fn password(&self, step: i64) -> String {
        let key = hmac::Key::new(self.algorithm, &self.secret);
        let tag = hmac::sign(&key, &step.to_be_bytes());
        let bytes = tag.as_ref();
        let offset = bytes.last().map_or(0, |last| usize::from(last & 0xf));
        let four = [bytes[offset] & 0x7f, bytes[offset + 1], bytes[offset + 2], bytes[offset + 3]];
        let number = u32::from_be_bytes(four) % 10_u32.pow(self.digits);
        format!("{number:0width$}", width = self.digits as usize)
    }
}

fn number(text: &str, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
    text.parse().ok().filter(|number| range.contains(number))
}

fn algorithm(name: &str) -> Option<hmac::Algorithm> {
    match name.to_uppercase().as_str() {
        "SHA1" => Some(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY),
        "SHA256" => Some(hmac::HMAC_SHA256),
        "SHA512" => Some(hmac::HMAC_SHA512),
        _ => None,
    }
}

/// Decodes RFC 4648 base32, padding optional.
fn base32(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut buffer, mut bits) = (Vec::new(), 0_u32, 0);
    for c in text.trim_end_matches('=').chars() {
        let value = match c.to_ascii_uppercase() {
            letter @ 'A'..='Z' => letter as u32 - 'A' as u32,
            digit @ '2'..='7' => digit as u32 - '2' as u32 + 26,
            _ => return None,
        };
        buffer = (buffer << 5 | value) & 0xfff;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push((buffer >> bits) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_passwords_are_those_of_the_standard() {
        let secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
        let totp = Totp::parse(&format!("otpauth://totp/x:a?secret={secret}&digits=8&issuer=x")).expect("a URL");
        assert_eq!(totp.at(59), "94287082");
        assert_eq!(totp.at(1_111_111_109), "07081804");
        assert_eq!(totp.step_of("94287082", 89), Some(1));
        assert_eq!(totp.step_of("94287082", 120), None);
        assert!(Totp::parse("https://x").is_err() && Totp::parse("otpauth://totp/x?secret=1").is_err());
    }
}
