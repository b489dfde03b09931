//! A command line as words: quotes, `;`, `&&`, `||`, and a redirection to a file.

/// What joins a command to the one before.
#[derive(Clone, Copy)]
pub(super) enum Joint {
    Always,
    AfterSuccess,
    AfterFailure,
}

/// Words of each command, and what joins it to the one before.
pub(super) fn split(line: &str) -> Vec<(Joint, Vec<String>)> {
    let mut commands = vec![(Joint::Always, Vec::new())];
    let (mut word, mut started, mut quote) = (String::new(), false, None);
    let mut chars = line.chars().peekable();
    let end_word = |commands: &mut Vec<(Joint, Vec<String>)>, word: &mut String, started: &mut bool| {
        if std::mem::take(started)
            && let Some((_, words)) = commands.last_mut()
        {
            words.push(std::mem::take(word));
        }
    };
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('"') | None, '\\') => {
                word.extend(chars.next());
                started = true;
            }
            (Some(_), c) => word.push(c),
            (None, '\'' | '"') => (quote, started) = (Some(c), true),
            (None, ';' | '\n') => {
                end_word(&mut commands, &mut word, &mut started);
                commands.push((Joint::Always, Vec::new()));
            }
            (None, '&' | '|') if chars.peek() == Some(&c) => {
                chars.next();
                end_word(&mut commands, &mut word, &mut started);
                commands.push((if c == '&' { Joint::AfterSuccess } else { Joint::AfterFailure }, Vec::new()));
            }
            (None, '>') => {
                end_word(&mut commands, &mut word, &mut started);
                let more = chars.next_if_eq(&'>').is_some();
                (word, started) = (if more { "\0>>" } else { "\0>" }.to_string(), true);
                end_word(&mut commands, &mut word, &mut started);
            }
            (None, c) if c.is_whitespace() => end_word(&mut commands, &mut word, &mut started),
            (None, c) => {
                word.push(c);
                started = true;
            }
        }
    }
    end_word(&mut commands, &mut word, &mut started);
    commands
}

/// Takes `> file` or `>> file` out of a command's words.
pub(super) fn redirection(mut words: Vec<String>) -> (Vec<String>, Option<(String, bool)>) {
    let Some(at) = words.iter().position(|word| word.starts_with("\0>")) else { return (words, None) };
    let more = words[at] == "\0>>";
    let path = words.get(at + 1).cloned();
    words.truncate(at);
    (words, path.map(|path| (path, more)))
}
