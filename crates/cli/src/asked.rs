//! Answers what a server asks back during `call`, `read` and `prompt`: by what was typed on the
//! command line, and on a terminal by asking the person there. Given to the client, which says
//! when. It never opens an address.

mod dialog;
mod field;
mod terminal;

use crate::args::AskedArgs;
use crate::arguments::{ReadFile, Typed, build};
use crate::exit::{Exit, Failure};
use crate::meter::Meter;
use crate::print::{Printer, one_line};
use crate::table::cut;
use dialog::Dialog;
use haft_client::{
    Answerer, Answering, Asker, Consent, Content, Declined, Elicited, Form, Offers, Root,
    SampleRequest, Visit, text_message,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use terminal::Terminal;

/// Whoever sits before this command line.
#[derive(Debug)]
pub(crate) struct Person {
    printer: Printer,
    meter: Arc<Meter>,
    /// What the user calls the server.
    target: String,
    terminal: Option<Terminal>,
    /// A person is asked one thing at a time.
    turn: tokio::sync::Mutex<()>,
    /// `key=value` words.
    answers: Vec<String>,
    sampling_text: Option<String>,
    roots: Vec<Root>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Which of the answers some form asked for.
    used: Vec<bool>,
    /// An answer that fits no question ends the call.
    failure: Option<Failure>,
}

impl Person {
    /// Reads what was typed.
    pub(crate) fn new(
        args: &AskedArgs,
        target: &str,
        printer: Printer,
        meter: Arc<Meter>,
    ) -> Result<Arc<Self>, Failure> {
        for word in &args.answers {
            if key_of(word).is_none() {
                let message = format!("--answer {word:?} is no answer; write key=value");
                return Err(Failure::usage(message));
            }
        }
        let state = State { used: vec![false; args.answers.len()], failure: None };
        Ok(Arc::new(Self {
            terminal: printer.can_ask().then(Terminal::new),
            turn: tokio::sync::Mutex::default(),
            printer,
            meter,
            target: cut(&one_line(target), TARGET_COLUMNS),
            answers: args.answers.clone(),
            sampling_text: args.sampling_text.clone(),
            roots: args.roots.iter().map(|root| root_of(root)).collect::<Result<_, _>>()?,
            state: Mutex::new(state),
        }))
    }

    /// What the answers on the command line did wrong, once the call is over.
    pub(crate) fn settle(&self) -> Result<(), Failure> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(failure) = state.failure.take() {
            return Err(failure);
        }
        for (word, _) in self.answers.iter().zip(&state.used).filter(|(_, is_used)| !**is_used) {
            let key = key_of(word).unwrap_or_default();
            self.printer.warn(&format!("--answer {key}=… was not asked for"));
        }
        Ok(())
    }

    async fn fill_in(&self, asker: &Asker, form: &Form) -> Elicited {
        let given = match self.given(form) {
            Ok(given) => given,
            Err(failure) => {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                state.failure.get_or_insert(failure);
                return Elicited::Cancelled;
            }
        };
        let mut proposed = form.defaults();
        let is_answered = !given.is_empty();
        proposed.extend(given);
        let lacks = form.check(&proposed).err();
        if is_answered && lacks.is_none() {
            return Elicited::Accepted(proposed);
        }
        if let Some(terminal) = &self.terminal {
            let _turn = self.turn.lock().await;
            let _pause = self.meter.pause();
            return self.dialog(terminal, asker).fill(form, proposed).await;
        }
        let names: Vec<&str> = form.fields.iter().map(|field| field.name.as_str()).collect();
        let why = match lacks.filter(|_| is_answered) {
            Some(lacks) => format!("{lacks}; --answer gives it"),
            None => match names.first() {
                Some(first) => {
                    let names = excerpt(&names.join(", "));
                    format!("it asks for {names}; --answer {first}=… answers")
                }
                None => "run it in a terminal to agree".to_owned(),
            },
        };
        self.decline(asker, &form.message, &why);
        Elicited::Declined
    }

    async fn go_there(&self, asker: &Asker, visit: &Visit) -> Consent {
        let Some(terminal) = &self.terminal else {
            let why =
                format!("it wants {} to be visited; run it in a terminal to agree", visit.url);
            self.decline(asker, &visit.message, &why);
            return Consent::Declined;
        };
        let _turn = self.turn.lock().await;
        let _pause = self.meter.pause();
        self.dialog(terminal, asker).visit(visit).await
    }

    fn dialog<'a>(&'a self, terminal: &'a Terminal, asker: &Asker) -> Dialog<'a> {
        Dialog { printer: self.printer, terminal, who: self.name(asker) }
    }

    /// The answers on the command line to this form, in the types that it asks for.
    fn given(&self, form: &Form) -> Result<Map<String, Value>, Failure> {
        let is_asked = |word: &&String| {
            form.fields.iter().any(|field| key_of(word) == Some(field.name.as_str()))
        };
        let words: Vec<String> = self.answers.iter().filter(is_asked).cloned().collect();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for (word, is_used) in self.answers.iter().zip(&mut state.used) {
            *is_used |= is_asked(&word);
        }
        drop(state);
        // What is missing may be proposed by the server.
        let mut schema = form.schema.clone();
        schema["required"] = json!([]);
        let refuse =
            |message: String| Failure::new(Exit::InvalidArguments, format!("--answer: {message}"));
        let read_file: ReadFile<'_> = &mut |name| std::fs::read_to_string(name);
        let typed = Typed { words: &words, json: None };
        let values = build(typed, &schema, read_file).map_err(|error| refuse(error.to_string()))?;
        let values: Map<String, Value> =
            serde_json::from_str(values.get()).map_err(|error| refuse(error.to_string()))?;
        for field in &form.fields {
            if let Some(Err(why)) = values.get(&field.name).map(|value| field.check(value)) {
                return Err(refuse(format!("`{}` {why}", field.name)));
            }
        }
        Ok(values)
    }

    /// Says in one line that a question is declined.
    fn decline(&self, asker: &Asker, message: &str, why: &str) {
        let (who, message) = (self.name(asker), excerpt(message));
        let _pause = self.meter.pause();
        self.printer.remark(&format!("declined: {who} asks {message:?}; {why}"));
    }

    /// Whose question it is: by its own word, and where it is.
    fn name(&self, asker: &Asker) -> String {
        match &*one_line(&asker.server.name) {
            "" => self.target.clone(),
            name => format!("{} ({})", excerpt(name), self.target),
        }
    }
}

impl Answerer for Person {
    /// Without a terminal as well: a server that may ask goes on when it is declined, and one that
    /// may not ask fails.
    fn offers(&self) -> Offers {
        Offers {
            forms: true,
            visits: true,
            sampling: self.sampling_text.is_some(),
            sampling_tools: false,
            roots: !self.roots.is_empty(),
        }
    }

    fn fill<'a>(&'a self, asker: &'a Asker, form: &'a Form) -> Answering<'a, Elicited> {
        Box::pin(self.fill_in(asker, form))
    }

    fn visit<'a>(&'a self, asker: &'a Asker, visit: &'a Visit) -> Answering<'a, Consent> {
        Box::pin(self.go_there(asker, visit))
    }

    fn visited<'a>(&'a self, asker: &'a Asker, _: &'a Visit) -> Answering<'a, bool> {
        Box::pin(async {
            let Some(terminal) = &self.terminal else { return false };
            let _turn = self.turn.lock().await;
            let _pause = self.meter.pause();
            self.dialog(terminal, asker).visited().await
        })
    }

    fn sample<'a>(
        &'a self,
        asker: &'a Asker,
        request: &'a SampleRequest,
    ) -> Answering<'a, Result<Box<RawValue>, Declined>> {
        let text = self.sampling_text.as_deref().unwrap_or_default();
        let last = request.messages.iter().flat_map(|message| &message.content).rev();
        let asked = last.filter_map(|content| match content {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let asked = excerpt(asked.take(1).collect::<String>().as_str());
        let who = self.name(asker);
        let _pause = self.meter.pause();
        self.printer.remark(&format!("{who} asks a model {asked:?}; --sampling-text answers"));
        Box::pin(std::future::ready(Ok(text_message("sampling-text", text))))
    }

    fn roots<'a>(&'a self, _: &'a Asker) -> Answering<'a, Result<Vec<Root>, Declined>> {
        Box::pin(std::future::ready(Ok(self.roots.clone())))
    }
}

/// As much of a server's text as a line of ours has room for.
fn excerpt(text: &str) -> String {
    cut(&one_line(text), EXCERPT_COLUMNS)
}

const EXCERPT_COLUMNS: usize = 120;
const TARGET_COLUMNS: usize = 60;

fn key_of(word: &str) -> Option<&str> {
    word.split_once('=').map(|(key, _)| key).filter(|key| !key.is_empty())
}

/// The root that a directory is.
fn root_of(directory: &Path) -> Result<Root, Failure> {
    let shown = directory.display();
    let whole = directory
        .canonicalize()
        .and_then(|whole| match whole.is_dir() {
            true => Ok(whole),
            false => Err(io::ErrorKind::NotADirectory.into()),
        })
        .map_err(|error| Failure::usage(format!("--root {shown}: {error}")))?;
    let name = whole.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(Root { uri: file_uri(&whole), name })
}

/// The `file://` address of a path (RFC 8089).
fn file_uri(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    for &byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_a_file_address() {
        assert_eq!(file_uri(Path::new("/a b/ü%.txt")), "file:///a%20b/%C3%BC%25.txt");
        assert!(root_of(Path::new("/no/such/directory")).is_err());
        assert!(root_of(Path::new("Cargo.toml")).is_err(), "a file is no root");
    }
}
