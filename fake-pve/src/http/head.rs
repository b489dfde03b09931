//! The head of a request: its first line and its header fields, with the refusals of malformed ones.

use percent_encoding::percent_decode_str;

/// Header fields in order, names as they were written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Headers(Vec<(String, String)>);

impl Headers {
    /// The first field of a name, whatever its case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Every field of a name.
    pub fn all<'h>(&'h self, name: &'h str) -> impl Iterator<Item = &'h str> {
        self.0.iter().filter(move |(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Reads one line. A line that begins with white space continues the field before it.
    ///
    /// # Errors
    /// The line is no header field.
    fn add(&mut self, line: &str) -> Result<(), Refused> {
        if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = self.0.last_mut() {
                value.push(' ');
                value.push_str(line.trim_start());
                return Ok(());
            }
        } else if let Some((name, value)) = line.split_once(':') {
            let name = name.trim_end();
            if !name.is_empty() && !name.contains(char::is_whitespace) {
                self.0.push((name.to_string(), value.trim_start().to_string()));
                return Ok(());
            }
        }
        Err(Refused { status: 506, text: "unable to parse request header".into(), version: None })
    }
}

/// A head that was understood.
#[derive(Debug)]
pub(super) struct Head {
    pub verb: String,
    /// Decoded.
    pub path: String,
    pub query: String,
    /// As it was written.
    pub target: String,
    /// `HTTP/1.1`.
    pub version: String,
    pub headers: Headers,
}

/// Why a head was not; the text is reason and body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub status: u16,
    pub text: String,
    /// The protocol, when the first line told it.
    pub version: Option<String>,
}

impl Head {
    /// Reads the first line: `GET /api2/json/version HTTP/1.1`.
    ///
    /// # Errors
    /// 400 for nonsense and for addresses with an `@` in front, 506 for another protocol.
    pub fn first_line(line: &str) -> Result<Head, Refused> {
        let refused = |status, text: String| Refused { status, text, version: None };
        let (verb, target, major, minor) = parts(line).ok_or_else(|| refused(400, "bad request".into()))?;
        if major != "1" {
            return Err(refused(506, format!("http protocol version {major}.{minor} not supported")));
        }
        if target.split('/').next().is_some_and(|start| start.contains('@')) {
            return Err(refused(400, "invalid url".into()));
        }
        let local = local_part(target);
        let (path, query) = local.split_once('?').unwrap_or((local, ""));
        Ok(Head {
            verb: verb.into(),
            path: percent_decode_str(path).decode_utf8_lossy().into_owned(),
            query: query.split('#').next().unwrap_or_default().into(),
            target: target.into(),
            version: format!("HTTP/{major}.{minor}"),
            headers: Headers::default(),
        })
    }

    /// Reads one header line.
    ///
    /// # Errors
    /// As [`Headers::add`].
    pub fn line(&mut self, line: &str) -> Result<(), Refused> {
        let version = Some(self.version.clone());
        self.headers.add(line).map_err(|refused| Refused { version, ..refused })
    }
}

/// Anywhere in the line: a word, a space, a word, a space, `HTTP/<digits>.<digits>`.
fn parts(line: &str) -> Option<(&str, &str, &str, &str)> {
    let (before, version) = line.rsplit_once(" HTTP/")?;
    let (rest, target) = before.rsplit_once(' ')?;
    let verb = rest.rsplit(char::is_whitespace).next()?;
    let (major, minor) = version.split_once('.')?;
    let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let end = digits(minor);
    let whole = digits(major) == major.len() && !major.is_empty() && end > 0;
    (whole && !verb.is_empty() && !target.is_empty()).then(|| (verb, target, major, &minor[..end]))
}

/// `https://host/path` -> `/path`.
fn local_part(target: &str) -> &str {
    match target.split_once("://") {
        Some((scheme, rest)) if scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            rest.find('/').map_or("/", |at| &rest[at..])
        }
        _ => target,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(line: &str) -> (u16, String) {
        let refused = Head::first_line(line).expect_err("refused");
        (refused.status, refused.text)
    }

    #[test]
    fn first_lines() {
        let head = Head::first_line("GET https://x/api2/json/a%20b?c=d HTTP/1.0").expect("a head");
        assert_eq!(
            (head.path.as_str(), head.query.as_str(), head.version.as_str()),
            ("/api2/json/a b", "c=d", "HTTP/1.0")
        );
        assert_eq!(refusal("garbage"), (400, "bad request".into()));
        assert_eq!(refusal("GET / HTTP/2.0"), (506, "http protocol version 2.0 not supported".into()));
        assert_eq!(refusal("GET a@b/c HTTP/1.1"), (400, "invalid url".into()));
    }

    #[test]
    fn header_lines() {
        let mut head = Head::first_line("GET / HTTP/1.1").expect("a head");
        for line in ["Cookie: a=1", "  b=2", "X-Empty:"] {
            head.line(line).expect("a field");
        }
        assert_eq!(head.headers.get("cookie"), Some("a=1 b=2"));
        assert_eq!(head.headers.get("x-empty"), Some(""));
        assert_eq!(head.line("no field").map_err(|refused| refused.status), Err(506));
    }
}
