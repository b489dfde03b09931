//! Texts of an imported document. They are somebody else's, and nobody has read them: before one is kept or shown it
//! loses what could hide something, and what is too long.

use std::collections::BTreeMap;

/// The longest text that is kept, in characters.
pub const LONGEST: usize = 400;

/// Texts of one method: under `""` its own, under `net[n]` that of a parameter, under `net[n].bridge` that of a key of its
/// property string.
pub type Texts = BTreeMap<String, String>;

/// The text on one line, without control, direction and invisible characters, cut at [`LONGEST`] characters.
pub fn clean(text: &str) -> String {
    // White space and what is taken away make a text shorter: what lies behind this can never be reached.
    let seen = text.chars().take(16 * LONGEST).filter(|c| c.is_whitespace() || is_visible(*c));
    let seen: String = seen.collect();
    let line = seen.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        None => line,
        // The ellipsis counts too.
        Some(_) => {
            let end = line.char_indices().nth(LONGEST - 1).map_or(line.len(), |(end, _)| end);
            format!("{}…", line[..end].trim_end())
        }
    }
}

/// Neither a control character nor one that shows nothing or turns the direction of what follows.
pub fn is_visible(c: char) -> bool {
    let hidden = matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
    !hidden && !c.is_control()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_something_goes() {
        assert_eq!(clean("a\u{202e}b\u{200b}c\u{7}d\u{e0041}"), "abcd");
        assert_eq!(clean(" two\n\n lines\t. "), "two lines .");
        assert_eq!(clean("\u{2066}\u{0}"), "");
    }

    #[test]
    fn what_is_long_is_cut() {
        assert_eq!(clean(&"ä".repeat(400)).chars().count(), 400);
        let cut = clean(&"ä".repeat(401));
        assert_eq!(cut.chars().count(), 400);
        assert!(cut.ends_with('…'));
        assert!(clean(&"\n".repeat(100_000)).is_empty());
    }
}
