//! Paths within texts that are shown or kept: what they say about a user is left out.

/// The home directory, where there is one that could be told apart.
pub fn home() -> Option<String> {
    std::env::var("HOME").ok().filter(|home| home.len() > 1)
}

/// The text with the home directory shortened.
pub fn without_home(text: &str) -> String {
    home().map_or_else(|| text.to_owned(), |home| shortened(text, &home))
}

/// Whether a name that ends in front of this sign would go on with it.
fn goes_on(sign: char) -> bool {
    sign.is_alphanumeric() || "._-".contains(sign)
}

/// The text with `~` for the home directory, wherever it stands; a name that merely begins or ends alike stays.
pub fn shortened(text: &str, home: &str) -> String {
    let home = home.trim_end_matches('/');
    let mut parts = text.split(home);
    let mut short = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_start = !short.ends_with(|sign| goes_on(sign) || sign == '/');
        short += if is_start && !part.starts_with(goes_on) { "~" } else { home };
        short += part;
    }
    short
}

/// The text with the last name alone of each absolute path, and of each that begins with `~/`. A blank or a comma may be
/// part of a path: of what stands behind one and has a slash, only the last name stays as well.
pub fn names_only(text: &str) -> String {
    let separates = |sign: char| sign.is_whitespace() || sign == ',';
    let (mut short, mut was_path) = (String::new(), false);
    for part in text.split_inclusive(separates) {
        let word = part.trim_end_matches(separates);
        let begin = path_begins(word);
        was_path |= begin.is_some();
        let (before, path) = match begin {
            Some(at) => word.split_at(at),
            None if was_path => ("", word),
            None => (word, ""),
        };
        let name = path.trim_end_matches('/').rsplit_once('/').map_or(path, |(_, name)| name);
        short.extend([before, name, &part[word.len()..]]);
    }
    short
}

/// Where in a text an absolute path begins, or one that begins with `~/`.
fn path_begins(text: &str) -> Option<usize> {
    let slashes = text.match_indices('/').map(|(at, _)| &text[..at]);
    let mut before = slashes.map(|before| before.trim_end_matches('~'));
    let begins = |before: &&str| !before.ends_with(|sign| goes_on(sign) || sign == '/');
    before.find(begins).map(str::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_home_directory_itself_is_shortened() {
        for (word, short) in [
            ("/home/bob/x.json", "~/x.json"),
            ("--output=/home/bob", "--output=~"),
            ("/home/bobby/x.json", "/home/bobby/x.json"),
            ("/mnt/home/bob/x.json", "/mnt/home/bob/x.json"),
            (r#"{"id":"temp-file.dir=/home/bob","b":1}"#, r#"{"id":"temp-file.dir=~","b":1}"#),
            ("mkdir '/home/bob/a': no; /home/bob:/home/bob", "mkdir '~/a': no; ~:~"),
            ("x.json", "x.json"),
        ] {
            assert_eq!(shortened(word, "/home/bob"), short);
        }
    }

    #[test]
    fn of_an_absolute_path_the_name_stays_and_whatever_is_none_stays_as_it_is() {
        for (word, short) in [
            ("/data/x/run.json", "run.json"),
            ("--output=/data/x/run.json", "--output=run.json"),
            ("~/x/run.json", "run.json"),
            ("temp-file.dir=/data/x/", "temp-file.dir=x"),
            ("pipe size=1M dir=~/x,/y/z 64", "pipe size=1M dir=x,z 64"),
            ("/a/one.json,/b/c/two.json,three.json", "one.json,two.json,three.json"),
            ("/usr/bin/wc -c", "wc -c"),
            ("sh -c 'cat /a/b >/c/d'", "sh -c 'cat b >d'"),
            ("/data/my files, new/run.json", "my files, run.json"),
            ("/data/a:/data/b", "b"),
        ] {
            assert_eq!(names_only(word), short);
        }
        for word in [
            "",
            "/",
            "~",
            "x/run.json",
            "../x/run.json",
            "pipe/*,unix-stream/spin",
            "64..64K:*4",
            "sed s/a/b/",
            "-mpipe/spin",
        ] {
            assert_eq!(names_only(word), word);
        }
    }
}
