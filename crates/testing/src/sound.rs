//! Whether a page is sound: every tag and attribute is one that the page itself writes, whatever the document says.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What would end a script, a comment, an attribute or a section, turn the text around, or ring a bell.
pub const HOSTILE: &str = "x</script><script>alert(1)</script><img src=x onerror=alert(2)>]]>--><style>'\"&amp;{{\u{202e}\u{0}\u{1b}[31m\u{7f}\u{200b}\u{feff}\u{2028}";

/// Replaces each text of a document, unless it is none any more then. Says how many.
fn replace(
    document: &mut Value,
    root: &mut Value,
    path: &str,
    may: &dyn Fn(&Value) -> bool,
) -> usize {
    let mut count = 0;
    match document {
        Value::String(_) => {
            let slot = root.pointer_mut(path).unwrap();
            let before = std::mem::replace(slot, Value::String(HOSTILE.to_owned()));
            if may(root) {
                count += 1;
            } else {
                *root.pointer_mut(path).unwrap() = before;
            }
        }
        Value::Array(all) => {
            for (at, one) in all.iter_mut().enumerate() {
                count += replace(one, root, &format!("{path}/{at}"), may);
            }
        }
        Value::Object(all) => {
            for (name, one) in all {
                count += replace(
                    one,
                    root,
                    &format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")),
                    may,
                );
            }
        }
        _ => {}
    }
    count
}

/// The tags of a page with their attributes.
fn parts(page: &str) -> Vec<(String, Vec<String>)> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once('<') {
        let name: String = after
            .chars()
            .take_while(|sign| {
                !sign.is_whitespace() && *sign != '>' && (*sign != '/' || after.starts_with('/'))
            })
            .collect();
        let mut attributes = Vec::new();
        let mut inside = &after[name.len()..];
        loop {
            inside = inside.trim_start_matches([' ', '\n', '/']);
            if let Some(end) = inside.strip_prefix('>') {
                rest = end;
                break;
            }
            let end = inside.find(['=', ' ', '>']).expect("a tag ends");
            assert!(end > 0, "<{name}: {}", inside.chars().take(80).collect::<String>());
            attributes.push(inside[..end].to_owned());
            inside = &inside[end..];
            if let Some(value) = inside.strip_prefix("=\"") {
                inside = value.split_once('"').expect("a value ends").1;
            }
        }
        // What is in them is no markup.
        if name == "script" || name == "style" {
            rest = &rest[rest.find(&format!("</{name}>")).expect("it ends")..];
        }
        tags.push((name, attributes));
    }
    tags
}

const TAGS: &[&str] = &[
    "!doctype",
    "a",
    "b",
    "body",
    "circle",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "footer",
    "g",
    "h1",
    "h2",
    "h3",
    "head",
    "html",
    "li",
    "line",
    "link",
    "main",
    "meta",
    "nav",
    "p",
    "path",
    "rect",
    "script",
    "section",
    "span",
    "style",
    "summary",
    "svg",
    "table",
    "tbody",
    "td",
    "text",
    "th",
    "thead",
    "title",
    "tr",
    "ul",
];

const ATTRIBUTES: &[&str] = &[
    "aria-hidden",
    "aria-label",
    "charset",
    "class",
    "colspan",
    "content",
    "cx",
    "cy",
    "d",
    "data-head",
    "data-plain",
    "data-v",
    "fill-opacity",
    "height",
    "href",
    "html",
    "http-equiv",
    "id",
    "lang",
    "name",
    "open",
    "r",
    "rel",
    "role",
    "rx",
    "scope",
    "tabindex",
    "transform",
    "viewBox",
    "width",
    "x",
    "x1",
    "x2",
    "xmlns",
    "y",
    "y1",
    "y2",
];

/// Checks a page.
///
/// # Panics
/// A tag, attribute or sign stands in it that no page has.
pub fn is_sound(page: &str) {
    let tags = parts(page);
    for (tag, attributes) in &tags {
        let bare = tag.trim_start_matches('/');
        assert!(TAGS.contains(&bare), "<{tag}>");
        for name in attributes {
            assert!(ATTRIBUTES.contains(&name.as_str()), "<{tag} {name}>");
        }
    }
    let count = |name: &str| tags.iter().filter(|(tag, _)| tag == name).count();
    for name in TAGS {
        let is_bare = ["!doctype", "meta", "link", "circle", "line", "path", "rect"].contains(name);
        assert!(is_bare || count(name) == count(&format!("/{name}")), "<{name}> is closed");
    }
    assert_eq!((count("script"), count("style")), (1, 1));
    let unprinted =
        page.chars().find(|sign| *sign != '\n' && ipcperf_core::text::is_unprinted(*sign));
    assert_eq!(unprinted, None);
}

/// The document with a hostile text in the place of every text that may be anything.
///
/// # Panics
/// There are few such texts, so that nothing would be tried.
pub fn spoiled<T: Serialize + DeserializeOwned>(document: &T) -> Value {
    let original = serde_json::to_value(document).unwrap();
    let is_document = |value: &Value| serde_json::from_value::<T>(value.clone()).is_ok();
    let mut spoiled = original.clone();
    let count = replace(&mut original.clone(), &mut spoiled, "", &is_document);
    assert!(count > 20, "{count} texts");
    spoiled
}
