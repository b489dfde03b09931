//! The globs of the decision files, over path templates: `*` is one segment, `**` any number, `{a,b}` one of several.

/// Whether `template` (such as `/nodes/{node}/qemu`) matches `glob`.
pub fn matches(glob: &str, template: &str) -> bool {
    let glob: Vec<&str> = segments(glob);
    let path: Vec<&str> = segments(template);
    matches_from(&glob, &path)
}

fn segments(text: &str) -> Vec<&str> {
    text.split('/').filter(|segment| !segment.is_empty()).collect()
}

fn matches_from(glob: &[&str], path: &[&str]) -> bool {
    match (glob.split_first(), path.split_first()) {
        (None, None) => true,
        (None, Some(_)) => false,
        (Some((&"**", rest)), _) => (0..=path.len()).any(|skip| matches_from(rest, &path[skip..])),
        (Some(_), None) => false,
        (Some((wanted, glob)), Some((segment, path))) => one(wanted, segment) && matches_from(glob, path),
    }
}

fn one(wanted: &str, segment: &str) -> bool {
    match wanted.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        Some(choices) => choices.split(',').any(|choice| choice == segment),
        None => wanted == "*" || wanted == segment,
    }
}
