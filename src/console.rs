//! The one place that prints: results of commands on stdout, notices for people on stderr.
//!
//! While the server speaks MCP on stdio, stdout belongs to the protocol and only [`note`] may be used.

use std::io::Write;

/// A line, or several, on stdout. A reader that went away is no error.
pub fn say(text: &str) {
    write(std::io::stdout().lock(), text);
}

/// A line, or several, on stderr.
pub fn note(text: &str) {
    write(std::io::stderr().lock(), text);
}

fn write(mut stream: impl Write, text: &str) {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    // Nobody reads any more: there is nobody to tell.
    let _ = write!(stream, "{text}{end}").and_then(|()| stream.flush());
}
