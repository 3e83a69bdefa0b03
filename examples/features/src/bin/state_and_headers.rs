//! What a handler is given besides its arguments: shared state, HTTP headers, and who asks.
//! `target/debug/state_and_headers --http :7300`, then
//! `haft call http://127.0.0.1:7300/mcp opening_hours day=sunday`

use haft::{Headers, Principal, State};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
enum Day {
    Weekday,
    Saturday,
    Sunday,
}

/// When the shop is open.
struct Hours(Mutex<BTreeMap<Day, String>>);

impl Hours {
    fn change<T>(&self, change: impl FnOnce(&mut BTreeMap<Day, String>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// When the shop is open, in the language of whoever asks.
#[haft::tool(read_only)]
fn opening_hours(day: Day, hours: State<Hours>, headers: Headers) -> String {
    let language = headers.get("accept-language").unwrap_or("en");
    let (open, closed) = match language.get(..2) {
        Some("de") => ("Geöffnet", "Geschlossen"),
        Some("fr") => ("Ouvert", "Fermé"),
        _ => ("Open", "Closed"),
    };
    let found = hours.change(|hours| hours.get(&day).cloned());
    found.map_or_else(|| closed.to_owned(), |hours| format!("{open} {hours}"))
}

/// Changes when the shop is open. Only for whoever runs this server, or has signed in.
#[haft::tool(idempotent)]
fn set_hours(
    day: Day,
    /// Like `9-18`.
    open: String,
    principal: &Principal,
    hours: State<Hours>,
) -> Result<(), &'static str> {
    match principal {
        Principal::Anonymous => Err("sign in to change opening hours"),
        _ => {
            hours.change(|hours| hours.insert(day, open));
            Ok(())
        }
    }
}

fn main() -> haft::Result<()> {
    let hours = [(Day::Weekday, "9-18".to_owned()), (Day::Saturday, "10-14".to_owned())];
    haft::server("state_and_headers", "1.0.0")
        .state(Hours(Mutex::new(hours.into())))
        .tools(haft::tools![opening_hours, set_hours])
        .run()
}
