//! Where a small listener for whoever runs the server listens: at an address, or at a socket of the
//! file system that its owner alone can open. Opened by `admin` and `metrics`, used by `side_door`.

use crate::admin_client::AdminAddress;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream as Probe;
use std::path::{Path, PathBuf};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};

/// See above.
#[derive(Debug)]
pub(crate) enum Door {
    Tcp(TcpListener),
    Socket(UnixListener, SocketFile),
}

/// The file of a socket, which goes with it.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    /// Its device and number there: whatever else has its name by now is not ours.
    identity: (u64, u64),
}

impl SocketFile {
    fn at(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), identity: identity(path)? })
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()))
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|found| found == self.identity) {
            _ = fs::remove_file(&self.path);
        }
    }
}

/// A connection of either kind.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

impl Door {
    /// Begins to listen there.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::AddrInUse`] also where another process listens at a socket,
    /// or there is a file that is none.
    pub(crate) async fn open(address: &AdminAddress) -> io::Result<Self> {
        match address {
            AdminAddress::Tcp(address) => TcpListener::bind(address).await.map(Self::Tcp),
            AdminAddress::Socket(path) => {
                let listener = socket(path)?;
                Ok(Self::Socket(listener, SocketFile::at(path)?))
            }
        }
    }

    /// Whether only this machine can reach it by an address.
    pub(crate) fn is_loopback(&self) -> bool {
        match self {
            Self::Tcp(listener) => {
                listener.local_addr().is_ok_and(|address| address.ip().is_loopback())
            }
            Self::Socket(..) => false,
        }
    }

    /// What to ask there.
    pub(crate) fn url(&self) -> io::Result<String> {
        match self {
            Self::Tcp(listener) => Ok(format!("http://{}", listener.local_addr()?)),
            Self::Socket(_, file) => Ok(format!("unix:{}", file.path.display())),
        }
    }

    /// The next connection.
    pub(crate) async fn accept(&self) -> io::Result<Box<dyn Stream>> {
        match self {
            Self::Tcp(listener) => Ok(Box::new(listener.accept().await?.0)),
            Self::Socket(listener, _) => Ok(Box::new(listener.accept().await?.0)),
        }
    }
}

/// Listens at a path that is its owner's alone from the beginning: it is made in a directory that
/// nobody else can enter, and moved to its place.
fn socket(path: &Path) -> io::Result<UnixListener> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
        Ok(found) if !found.file_type().is_socket() => {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "a file is there, and no socket"));
        }
        Ok(_) if Probe::connect(path).is_ok() => {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "another process listens there"));
        }
        // What is left of one that was killed.
        Ok(_) => {}
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    let made = builder.prefix(".haft-").tempdir_in(parent.unwrap_or_else(|| Path::new(".")))?;
    let inner = made.path().join("s");
    let listener = UnixListener::bind(&inner)?;
    fs::set_permissions(&inner, Permissions::from_mode(0o600))?;
    fs::rename(&inner, path)?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_is_its_owners_alone_and_takes_the_place_of_a_dead_one_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("admin.sock");
        let address = AdminAddress::Socket(path.clone());
        let door = Door::open(&address).await.expect("it listens");
        let mode = fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let entries = fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(entries, 1, "nothing else is left");
        let taken = Door::open(&address).await.map(|_| ()).expect_err("one is there");
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        drop(door);
        assert!(!path.exists());
        // What has its name by now is another's.
        let door = Door::open(&address).await.expect("it listens");
        fs::remove_file(&path).expect("it is there");
        let other = std::os::unix::net::UnixListener::bind(&path).expect("a socket");
        drop((door, other));
        assert!(path.exists());
        fs::remove_file(&path).expect("it is there");
        // One that was killed leaves its file.
        drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket"));
        assert!(path.exists());
        drop(Door::open(&address).await.expect("it takes its place"));
        fs::write(&path, "text").expect("a folder of ours");
        let taken = Door::open(&address).await.map(|_| ()).expect_err("a file is there");
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        assert_eq!(fs::read(&path).expect("it is still there"), b"text");
    }
}
