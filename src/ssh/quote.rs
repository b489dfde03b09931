//! From a list of arguments to the one line of text that an SSH server hands to the user's shell.
//!
//! This is the only place where arguments become shell text. A line begins with `exec`, so that what runs is the program
//! of that name and nothing the shell would make of the word (a builtin, an alias, a keyword), and so that signals and the
//! exit status are the program's own.
//!
//! Everything but plain characters stands in single quotes; a quote and a backslash stand outside them, each behind a
//! backslash. Unlike the usual `'\''` alone this reads the same in `fish`, where a backslash means something inside single
//! quotes too.

/// Longest line: Linux takes no single argument of 128 KiB, and the line is one (`sh -c LINE`).
pub const LONGEST: usize = 120 * 1024;

/// Why a list of arguments cannot become a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuoteError {
    /// There is nothing to run.
    #[error("there is no program to run")]
    Nothing,
    /// The program's name would be taken for an option.
    #[error("the program's name may not begin with '-'")]
    Option,
    /// No shell can be given a NUL.
    #[error("argument {0} holds a NUL character, which no command line can carry")]
    Nul(usize),
    /// The bytes are no text.
    #[error("argument {0} is not valid UTF-8; only text can be sent")]
    NotText(usize),
    /// The line would not be accepted by the system on the other side.
    #[error("the command line would be {0} bytes long, and {LONGEST} is the most: put the data on stdin")]
    TooLong(usize),
}

/// The line that runs this program with these arguments, whatever they hold.
///
/// # Errors
/// When there is no program, its name begins with `-`, an argument holds a NUL or is not UTF-8 (counted from 0, the
/// program's name), or the line gets longer than [`LONGEST`].
pub fn line<A: AsRef<[u8]>>(argv: &[A]) -> Result<String, QuoteError> {
    let program = argv.first().map(AsRef::as_ref).unwrap_or_default();
    if program.is_empty() {
        return Err(QuoteError::Nothing);
    }
    if program.starts_with(b"-") {
        return Err(QuoteError::Option);
    }
    let mut line = String::from("exec");
    for (at, argument) in argv.iter().enumerate() {
        let text = str::from_utf8(argument.as_ref()).map_err(|_| QuoteError::NotText(at))?;
        if text.contains('\0') {
            return Err(QuoteError::Nul(at));
        }
        line.push(' ');
        push_word(&mut line, text);
    }
    if line.len() > LONGEST { Err(QuoteError::TooLong(line.len())) } else { Ok(line) }
}

/// The arguments that run a line in a shell of its own: where a program takes a command as arguments (`pct exec`) but a
/// shell is wanted on the other side, with the words quoted once for each shell they pass.
///
/// # Errors
/// As [`line`].
pub fn in_shell<A: AsRef<[u8]>>(argv: &[A]) -> Result<Vec<String>, QuoteError> {
    Ok(vec!["sh".into(), "-c".into(), line(argv)?])
}

fn push_word(line: &mut String, text: &str) {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | ',' | '@' | '+');
    if !text.is_empty() && text.chars().all(plain) {
        line.push_str(text);
        return;
    }
    if text.is_empty() {
        line.push_str("''");
    }
    let mut quoted = false;
    for c in text.chars() {
        let inside = !matches!(c, '\'' | '\\');
        if inside != quoted {
            line.push('\'');
            quoted = inside;
        }
        if !inside {
            line.push('\\');
        }
        line.push(c);
    }
    if quoted {
        line.push('\'');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_stay_readable() {
        let cases: [(&[&str], &str); 7] = [
            (&["pct", "exec", "101", "--", "ls", "-la", "/etc"], "exec pct exec 101 -- ls -la /etc"),
            (&["printf", "%s\n", ""], "exec printf '%s\n' ''"),
            (&["echo", "it's"], r"exec echo 'it'\''s'"),
            (&["echo", r"a\b"], r"exec echo 'a'\\'b'"),
            (&["echo", r"\'"], r"exec echo \\\'"),
            (&["echo", "$(id) `id` *"], "exec echo '$(id) `id` *'"),
            (&["env", "A=b", "~root"], "exec env 'A=b' '~root'"),
        ];
        for (argv, wanted) in cases {
            assert_eq!(line(argv).as_deref(), Ok(wanted));
        }
    }

    #[test]
    fn what_cannot_be_said_is_refused() {
        assert_eq!(line::<&str>(&[]), Err(QuoteError::Nothing));
        assert_eq!(line(&["", "x"]), Err(QuoteError::Nothing));
        assert_eq!(line(&["-c", "x"]), Err(QuoteError::Option));
        assert_eq!(line(&["echo", "a\0b"]), Err(QuoteError::Nul(1)));
        assert_eq!(line(&[b"echo".as_slice(), b"\xff"]), Err(QuoteError::NotText(1)));
        assert!(matches!(line(&["echo", &"x".repeat(LONGEST)]), Err(QuoteError::TooLong(_))));
    }

    #[test]
    fn a_shell_within_a_shell_quotes_twice() {
        let inner = in_shell(&["echo", "a b"]).expect("plain");
        let outer: Vec<&str> =
            ["pct", "exec", "101", "--"].into_iter().chain(inner.iter().map(String::as_str)).collect();
        assert_eq!(line(&outer).as_deref(), Ok(r"exec pct exec 101 -- sh -c 'exec echo '\''a b'\'"));
    }
}
