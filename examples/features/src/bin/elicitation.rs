//! Asking a person: a form, and an address to visit. One code for both eras: in the modern one the
//! tool runs again with each answer, and `once` keeps what must not be done twice.
//! In a terminal
//! `haft call --command target/debug/elicitation book_table name=Ada` asks you.

use haft::{AskError, Context, Elicited, State};
use serde::Deserialize;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers of bookings.
struct Book(AtomicU64);

#[derive(Deserialize)]
struct Table {
    guests: u8,
    outside: bool,
}

/// Forms are flat: texts, numbers, booleans and choices.
const TABLE: &str = r#"{"type":"object","required":["guests","outside"],"properties":{
    "guests":{"type":"integer","title":"Guests","minimum":1,"maximum":12},
    "outside":{"type":"boolean","title":"Outside?","default":false}}}"#;

/// Books a table for tonight.
#[haft::tool]
async fn book_table(
    /// The name to book for.
    name: String,
    book: State<Book>,
    context: &Context,
) -> Result<String, AskError> {
    // Without `once`, a modern client would use up a number with each answer.
    let number = context.once("number", async { book.0.fetch_add(1, Ordering::Relaxed) }).await;
    let asked = context.elicit("table", "How large should the table be?", TABLE).await?;
    let Elicited::Accepted(Table { guests, outside }) = asked else {
        return Ok("Nothing is booked.".to_owned());
    };
    // What must not pass through the client, like a card's number, is done on a page.
    if guests > 6 {
        let page = format!("https://restaurant.example/deposit/{number}");
        let agreed = context.elicit_url("deposit", "Large tables need a deposit.", &page).await?;
        if agreed.accepted().is_none() {
            return Ok("Nothing is booked without a deposit.".to_owned());
        }
    }
    let place = if outside { "outside" } else { "inside" };
    Ok(format!("Booking {number}: {guests} guests {place}, for {name}."))
}

fn main() -> haft::Result<()> {
    haft::server("elicitation", "1.0.0")
        .state(Book(AtomicU64::new(1)))
        .tool(book_table::tool())
        .run()
}
