//! The URI of a resource, and the variables of a URI template: what the server would refuse when it
//! starts is refused here, where it is written. Which addresses fit, the server knows.

use syn::{Error, LitStr, Result};

/// The variables of a URI, in their order; none if it is no template.
pub(crate) fn variables(uri: &LitStr) -> Result<Vec<String>> {
    let text = uri.value();
    let wrong = |message: &str| Error::new(uri.span(), message);
    let scheme = text.split(':').next().unwrap_or_default();
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    if scheme.len() == text.len() || !is_scheme {
        return Err(wrong("a resource has a URI, which begins with a scheme: `config://app`"));
    }
    let mut names: Vec<String> = Vec::new();
    let mut rest = &*text;
    while let Some((before, after)) = rest.split_once('{') {
        if before.contains('}') {
            return Err(wrong("a `}` closes nothing"));
        }
        if before.is_empty() && !names.is_empty() {
            return Err(wrong("two variables stand side by side: put a character between them"));
        }
        let (expression, after) =
            after.split_once('}').ok_or_else(|| wrong("a `{` is not closed"))?;
        let name = expression.strip_prefix('+').unwrap_or(expression);
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_name) {
            let message = format!(
                "`{{{expression}}}` is no variable: write `{{name}}`, or \
                                   `{{+name}}` for what may have slashes"
            );
            return Err(wrong(&message));
        }
        if names.iter().any(|known| known == name) {
            return Err(wrong(&format!("the variable `{name}` is there twice")));
        }
        names.push(name.to_owned());
        rest = after;
    }
    if rest.contains('}') {
        return Err(wrong("a `}` closes nothing"));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::variables;
    use proc_macro2::Span;
    use syn::LitStr;

    #[track_caller]
    fn check(uri: &str, expected: Result<&[&str], &str>) {
        let found = variables(&LitStr::new(uri, Span::call_site()));
        let found = found.map_err(|error| error.to_string());
        let expected = expected
            .map(|names| names.iter().map(ToString::to_string).collect())
            .map_err(ToString::to_string);
        assert_eq!(found, expected, "{uri}");
    }

    #[test]
    fn variables_are_found() {
        check("config://app", Ok(&[]));
        check("notes://{id}", Ok(&["id"]));
        check("file:///{+path}/{name}.txt", Ok(&["path", "name"]));
    }

    #[test]
    fn what_is_no_uri_or_no_template_is_refused() {
        let scheme = "a resource has a URI, which begins with a scheme: `config://app`";
        for uri in ["", "config", "/etc/passwd", "1a://b", "{scheme}://a"] {
            check(uri, Err(scheme));
        }
        check("a://{id", Err("a `{` is not closed"));
        check("a://id}", Err("a `}` closes nothing"));
        check("a://}{id}", Err("a `}` closes nothing"));
        check("a://{id}/{id}", Err("the variable `id` is there twice"));
        check("a://{a}{b}", Err("two variables stand side by side: put a character between them"));
        for wrong in ["", "{id", "?q", "a,b", "a*", "+"] {
            let message = format!(
                "`{{{wrong}}}` is no variable: write `{{name}}`, or `{{+name}}` \
                                   for what may have slashes"
            );
            check(&format!("a://{{{wrong}}}"), Err(&message));
        }
    }
}
