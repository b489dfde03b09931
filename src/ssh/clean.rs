//! What a command or a terminal printed, made fit to be shown: no escape sequences, no control or direction characters, no
//! private keys. Works on a stream, because a terminal's output comes in pieces that may end anywhere.

use std::sync::LazyLock;

use regex::Regex;

use crate::redact::{self, MASK};

/// Longest text inside an escape sequence: beyond it, it was none.
const LONGEST_SEQUENCE: usize = 4096;

static KEY_BEGIN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----").expect("a constant"));
static KEY_END: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----").expect("a constant"));
/// The end of a key whose beginning was not printed (`tail -n 5 key.pem`).
static KEY_TAIL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:[A-Za-z0-9+/=]{16,}\s+)*[A-Za-z0-9+/=]+\s+-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----")
        .expect("a constant")
});

/// Whole output at once, with tokens, tickets and password hashes masked too.
pub fn clean(bytes: &[u8]) -> String {
    let mut cleaner = Cleaner::default();
    let text = cleaner.feed(bytes) + &cleaner.finish();
    redact::text(&text).into_owned()
}

/// A short text that somebody else wrote (a guest's name, a note), on one line: cleaned, its white space made single.
pub fn line(text: &str) -> String {
    clean(text.as_bytes()).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Output that comes in pieces. What it gives still has to pass [`redact::text`], best when pieces have been put together.
#[derive(Debug, Default)]
pub struct Cleaner {
    /// The start of a character whose rest is still to come.
    partial: Vec<u8>,
    state: State,
    /// A carriage return was read: the next character says whether it ends a line.
    returned: bool,
    /// Text that may be the start of a private key.
    held: String,
    in_key: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// `ESC [`: until a letter.
    Control,
    /// `ESC ]` and the like: until its terminator; so long.
    Sequence(usize),
    /// ESC inside such a sequence.
    SequenceEscape(usize),
}

impl Cleaner {
    /// The text of the next piece, as far as it can be told already.
    pub fn feed(&mut self, bytes: &[u8]) -> String {
        self.partial.extend_from_slice(bytes);
        let whole = self.partial.len() - cut_off(&self.partial);
        let piece: Vec<u8> = self.partial.drain(..whole).collect();
        let mut text = String::with_capacity(piece.len());
        for c in String::from_utf8_lossy(&piece).chars() {
            self.take(c, &mut text);
        }
        self.without_keys(text)
    }

    /// What was held back; the output is over.
    pub fn finish(&mut self) -> String {
        let mut text = std::mem::take(&mut self.held);
        if self.in_key {
            text.clear();
        }
        text + if self.partial.is_empty() { "" } else { "\u{fffd}" }
    }

    fn take(&mut self, c: char, text: &mut String) {
        self.state = match (self.state, c) {
            (State::Text, '\u{1b}') => State::Escape,
            (State::Text, '\u{9b}') => State::Control,
            (State::Text, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}') => State::Sequence(0),
            (State::Text, c) => {
                self.put(c, text);
                State::Text
            }
            (State::Escape, '[') => State::Control,
            (State::Escape, ']' | 'P' | 'X' | '^' | '_') => State::Sequence(0),
            (State::Escape, ' '..='/' | '\u{1b}') => State::Escape,
            (State::Escape, '0'..='~') => State::Text,
            (State::Control, '@'..='~') => State::Text,
            (State::Control, ' '..='?') => State::Control,
            (State::Sequence(_), '\u{7}' | '\u{9c}') => State::Text,
            (State::Sequence(length), '\u{1b}') => State::SequenceEscape(length),
            (State::SequenceEscape(_), '\\') => State::Text,
            // A sequence has no line ends: without this, one that never ends would hide everything behind it.
            (State::Sequence(length), c) if c != '\n' && length < LONGEST_SEQUENCE => State::Sequence(length + 1),
            // It was no sequence after all.
            (_, '\u{1b}') => State::Escape,
            (_, c) => {
                self.put(c, text);
                State::Text
            }
        }
    }

    fn put(&mut self, c: char, text: &mut String) {
        if std::mem::take(&mut self.returned) && c != '\n' && c != '\r' {
            text.push('\n');
        }
        match c {
            '\r' => self.returned = true,
            '\n' | '\t' => text.push(c),
            // Backspace: what a terminal would take back.
            '\u{8}' if !text.ends_with('\n') => drop(text.pop()),
            c if c.is_control() || is_invisible(c) => {}
            c => text.push(c),
        }
    }

    /// Takes private keys out, whole ones and parts.
    fn without_keys(&mut self, text: String) -> String {
        let mut rest = std::mem::take(&mut self.held) + &text;
        let mut shown = String::with_capacity(rest.len());
        loop {
            let marker = if self.in_key { &KEY_END } else { &KEY_BEGIN };
            if let Some(found) = marker.find(&rest) {
                if self.in_key {
                    shown.push_str(MASK);
                } else {
                    shown.push_str(&KEY_TAIL.replace_all(&rest[..found.start()], MASK));
                }
                self.in_key = !self.in_key;
                rest.drain(..found.end());
                continue;
            }
            // What may be the start of a marker waits for the next piece.
            let keep = unfinished_marker(&rest);
            self.held = rest.split_off(keep);
            if !self.in_key {
                shown.push_str(&KEY_TAIL.replace_all(&rest, MASK));
            }
            return shown;
        }
    }
}

/// Where the last line begins to look like a marker that is not complete; the length of the text where none does.
fn unfinished_marker(text: &str) -> usize {
    let line = text.rfind('\n').map_or(0, |end| end + 1);
    let last = &text[line..];
    let dashes = last.find("-----").unwrap_or_else(|| last.trim_end_matches('-').len());
    if last.len() - dashes > 80 { text.len() } else { line + dashes }
}

/// Bytes at the end that are the start of a character.
fn cut_off(bytes: &[u8]) -> usize {
    match str::from_utf8(bytes) {
        Ok(_) => 0,
        Err(error) => {
            // Only the last error matters, and only when it is one of missing bytes.
            let tail = &bytes[bytes.len().saturating_sub(3)..];
            let starts = (0..tail.len()).find(|&at| {
                str::from_utf8(&tail[at..]).is_err_and(|e| e.valid_up_to() == 0 && e.error_len().is_none())
            });
            match (error.error_len(), starts) {
                (_, Some(at)) => tail.len() - at,
                _ => 0,
            }
        }
    }
}

/// Characters that show nothing, or turn round what stands beside them.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_and_controls_go() {
        let cases: [(&[u8], &str); 13] = [
            (b"\x1b[1;31mred\x1b[0m plain", "red plain"),
            (b"\x1b]0;a title\x07text", "text"),
            (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            (b"\x1bPq...\x1b\\after", "after"),
            (b"\x1b(Bcharset", "charset"),
            (b"10%\r20%\r\ndone\r\n", "10%\n20%\ndone\n"),
            (b"a\x08b\x00\x07\x7f", "b"),
            (b"tab\there", "tab\there"),
            ("\u{9b}31mred \u{202e}turned\u{feff}".as_bytes(), "red turned"),
            (b"bad \xff byte", "bad \u{fffd} byte"),
            (b"cut \xe2\x82", "cut \u{fffd}"),
            (b"\x1b]never ended\nstill seen", "\nstill seen"),
            ("é \u{e0041}ü".as_bytes(), "é ü"),
        ];
        for (bytes, wanted) in cases {
            assert_eq!(clean(bytes), wanted, "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    const KEY: &str = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jYmMAAAAGYmNyeXB0\nAAAAGAAAABDLGyfA39\n-----END OPENSSH PRIVATE KEY-----\n";

    #[test]
    fn private_keys_go_whole_and_in_parts() {
        assert_eq!(clean(format!("a\n{KEY}b\n").as_bytes()), "a\n[REDACTED]\nb\n");
        let (start, end) = KEY.split_at(70);
        assert_eq!(clean(start.as_bytes()), "", "no end");
        assert_eq!(clean(format!("x\n{end}y").as_bytes()), "x\n[REDACTED]\ny", "no beginning");
        let coloured = KEY.replace("PRIVATE", "\x1b[1mPRIVATE\x1b[0m");
        assert_eq!(clean(coloured.as_bytes()), "[REDACTED]\n");
        let public = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
        assert_eq!(clean(public.as_bytes()), public);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// However the output is cut into pieces, no part of a key is told, and the rest is the same.
        #[test]
        fn pieces_make_no_difference(cuts in prop::collection::vec(0..400usize, 0..6), colour: bool) {
            let colour = if colour { "\x1b[32m" } else { "" };
            let whole = format!("head ü\r\n{colour}{KEY}middle --- x\n-----not a marker\n{KEY}tail é");
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % (whole.len() + 1)).collect();
            cuts.sort_unstable();
            let mut cleaner = Cleaner::default();
            let (mut text, mut from) = (String::new(), 0);
            for cut in cuts.into_iter().chain([whole.len()]) {
                text += &cleaner.feed(&whole.as_bytes()[from..cut]);
                from = cut;
            }
            text += &cleaner.finish();
            prop_assert_eq!(text, "head ü\n[REDACTED]\nmiddle --- x\n-----not a marker\n[REDACTED]\ntail é");
        }

        /// Nothing that could steer a terminal or hide text gets through, whatever the bytes are.
        #[test]
        fn only_text_is_left(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(clean(&bytes).chars().all(|c| c == '\n' || c == '\t' || !(c.is_control() || is_invisible(c))));
        }
    }
}
