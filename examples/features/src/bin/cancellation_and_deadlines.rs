//! Cancelling and time limits: a call that is cancelled, or takes too long, is dropped where it
//! waits, and what it holds is given back by `Drop`.
//! `haft call --command target/debug/cancellation_and_deadlines wait_for_port port=7300 seconds=2`

use haft::{Context, State};
use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// How many calls wait.
#[derive(Default)]
struct Waiting(AtomicUsize);

/// Is dropped when the call ends, however it ends.
struct Place(State<Waiting>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits until a program of this machine listens at a port.
#[haft::tool(read_only)]
async fn wait_for_port(
    port: u16,
    /// For how long.
    #[haft(default = 10, range(1..=30))]
    seconds: u64,
    waiting: State<Waiting>,
    context: &Context,
) -> Result<&'static str, String> {
    waiting.0.fetch_add(1, Ordering::Relaxed);
    let _place = Place(waiting);
    context.progress(0.0, None, Some("waiting"));
    let listens = async {
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_err() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    // A limit of one's own can say what to do next.
    let waited = timeout(Duration::from_secs(seconds), listens).await;
    waited.map(|()| "it listens").map_err(|_| format!("nobody listens at {port}; is it started?"))
}

/// How many calls wait for a port.
#[haft::tool(read_only)]
fn waiting_calls(waiting: State<Waiting>) -> usize {
    waiting.0.load(Ordering::Relaxed)
}

/// The first line that a program says to whoever connects, as SMTP and SSH servers do.
#[haft::tool(read_only, timeout = "1s")]
async fn banner(port: u16) -> io::Result<String> {
    let connected = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    let line = BufReader::new(connected).lines().next_line().await?;
    Ok(line.unwrap_or_else(|| "nothing".to_owned()))
}

fn main() -> haft::Result<()> {
    haft::server("cancellation_and_deadlines", "1.0.0")
        .state(Waiting::default())
        .tools(haft::tools![wait_for_port, waiting_calls, banner])
        .run()
}
