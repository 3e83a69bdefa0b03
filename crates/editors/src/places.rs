//! Where the files of hosts are on each system. Knows paths and nothing of what is in them; looks
//! at the disk only to see which of several files exists.

use crate::format::Format;
use crate::host::Host;
use crate::limits::PROJECT_LEVELS_MAX;
use std::path::{Path, PathBuf};

/// A kind of system; hosts keep their files in other places on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// Linux and other systems that follow the XDG directories.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl System {
    /// The one that this was built for.
    #[must_use]
    pub const fn current() -> Self {
        if cfg!(target_os = "macos") {
            Self::MacOs
        } else if cfg!(windows) {
            Self::Windows
        } else {
            Self::Linux
        }
    }
}

/// Whose files, on which system, in which project.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The kind of system.
    pub system: System,
    /// The home directory.
    pub home: PathBuf,
    /// Where the work is.
    pub directory: PathBuf,
    /// The variables that move files: `XDG_CONFIG_HOME`, `APPDATA`, `CODEX_HOME`.
    pub variables: Vec<(String, String)>,
}

/// What a path of the table is relative to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Base {
    /// The home directory.
    Home,
    /// Where programs keep settings: `~/.config`, `~/Library/Application Support`, `%APPDATA%`.
    Config,
    /// `~/.config` on macOS, too; on Windows `%APPDATA%` and this path, unless it is empty.
    DotConfig(&'static str),
    /// A directory that a variable names, else one of the home directory.
    Variable(&'static str, &'static str),
    /// A directory of the project.
    Project,
}

/// A file of a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    pub(crate) base: Base,
    pub(crate) path: &'static str,
    pub(crate) is_project: bool,
    /// Whether it is only read: hosts have moved their servers elsewhere.
    pub(crate) is_old: bool,
    pub(crate) format: Format,
}

/// A file that a host reads, whether or not it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFile {
    /// Where it is.
    pub path: PathBuf,
    /// How it is written.
    pub format: Format,
    /// Whether it belongs to the project in which the work is.
    pub is_project: bool,
    /// Whether the host has moved its servers elsewhere; no new ones go here.
    pub is_old: bool,
}

const MOVERS: [&str; 3] = ["APPDATA", "CODEX_HOME", "XDG_CONFIG_HOME"];

impl Surroundings {
    /// Those of this process; `None` if it knows neither a home nor a working directory.
    #[must_use]
    pub fn of_process() -> Option<Self> {
        let directory = std::env::current_dir().ok()?;
        let home = std::env::home_dir().filter(|home| home.is_absolute())?;
        let variables = MOVERS
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
            .collect();
        Some(Self { system: System::current(), home, directory, variables })
    }

    /// The files of a host: the user's first, then those of the project, the nearest first.
    #[must_use]
    pub fn files(&self, host: &Host) -> Vec<HostFile> {
        let projects = self.projects();
        let mut files = Vec::new();
        for spot in host.spots {
            if !spot.is_project {
                files.extend(self.user_path(spot).map(|path| file(spot, path)));
            }
        }
        for project in projects {
            for spot in host.spots.iter().filter(|spot| spot.is_project) {
                let path = project.join(spot.path);
                // In the home directory both are one file.
                if files.iter().all(|file: &HostFile| file.path != path) {
                    files.push(file(spot, path));
                }
            }
        }
        files
    }

    /// The file that a new server of a host goes to: the first that exists, else the first of all.
    #[must_use]
    pub fn file_to_write(&self, host: &Host, is_project: bool) -> Option<HostFile> {
        let is_kind = |file: &HostFile| file.is_project == is_project && !file.is_old;
        let files: Vec<HostFile> = self.files(host).into_iter().filter(is_kind).collect();
        let nearest = |file: &&HostFile| !is_project || file.path.starts_with(&self.directory);
        let there = files.iter().filter(nearest).find(|file| file.path.exists());
        there.or_else(|| files.first()).cloned()
    }

    /// The working directory and those above it, up to the root of its repository.
    fn projects(&self) -> Vec<PathBuf> {
        let above: Vec<&Path> = self.directory.ancestors().take(PROJECT_LEVELS_MAX).collect();
        let root = above.iter().position(|directory| directory.join(".git").exists());
        above.into_iter().take(root.unwrap_or(0) + 1).map(Path::to_owned).collect()
    }

    fn user_path(&self, spot: &Spot) -> Option<PathBuf> {
        let app_data =
            || self.moved("APPDATA").unwrap_or_else(|| self.home.join("AppData/Roaming"));
        let dot_config =
            || self.moved("XDG_CONFIG_HOME").unwrap_or_else(|| self.home.join(".config"));
        let directory = match (spot.base, self.system) {
            (Base::Home, _) => self.home.clone(),
            (Base::Config, System::Windows) => app_data(),
            (Base::DotConfig(path), System::Windows) if !path.is_empty() => {
                return Some(app_data().join(path));
            }
            (Base::Config, System::MacOs) => self.home.join("Library/Application Support"),
            (Base::Config | Base::DotConfig(_), _) => dot_config(),
            (Base::Variable(name, otherwise), _) => {
                self.moved(name).unwrap_or_else(|| self.home.join(otherwise))
            }
            (Base::Project, _) => return None,
        };
        Some(directory.join(spot.path))
    }

    fn moved(&self, variable: &str) -> Option<PathBuf> {
        let (_, value) = self.variables.iter().find(|(name, _)| name == variable)?;
        Some(PathBuf::from(value))
            .filter(|path| path.is_absolute() || self.system == System::Windows)
    }
}

fn file(spot: &Spot, path: PathBuf) -> HostFile {
    HostFile { path, format: spot.format, is_project: spot.is_project, is_old: spot.is_old }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{HOSTS, host};

    fn surroundings(system: System) -> Surroundings {
        let (home, directory) = (PathBuf::from("/home/ada"), PathBuf::from("/nowhere/project"));
        let variables = vec![("APPDATA".to_owned(), "/home/ada/Roaming".to_owned())];
        Surroundings { system, home, directory, variables }
    }

    fn check(system: System, name: &str, expected: &[&str]) {
        let host = host(name).expect("a host");
        let files = surroundings(system).files(host);
        let found: Vec<&str> = files.iter().filter_map(|file| file.path.to_str()).collect();
        assert_eq!(found, expected, "{name} on {system:?}");
    }

    #[test]
    fn each_system_has_its_own_places() {
        use System::{Linux, MacOs, Windows};
        let desktop = "Claude/claude_desktop_config.json";
        let library = "/home/ada/Library/Application Support";
        check(Linux, "claude-desktop", &[&format!("/home/ada/.config/{desktop}")]);
        check(MacOs, "claude-desktop", &[&format!("{library}/{desktop}")]);
        check(Windows, "claude-desktop", &[&format!("/home/ada/Roaming/{desktop}")]);
        let mine = "/nowhere/project/.vscode/mcp.json";
        let code = |base: &str| format!("{base}/Code/User/mcp.json");
        let settings = |base: &str| format!("{base}/Code/User/settings.json");
        let (config, roaming) = ("/home/ada/.config", "/home/ada/Roaming");
        check(Linux, "vscode", &[&code(config), &settings(config), mine]);
        check(MacOs, "vscode", &[&code(library), &settings(library), mine]);
        check(Windows, "vscode", &[&code(roaming), &settings(roaming), mine]);
        check(MacOs, "goose", &["/home/ada/.config/goose/config.yaml"]);
        check(Windows, "goose", &["/home/ada/Roaming/Block/goose/config/config.yaml"]);
        let zed = "/nowhere/project/.zed/settings.json";
        check(MacOs, "zed", &["/home/ada/.config/zed/settings.json", zed]);
        check(Windows, "zed", &["/home/ada/Roaming/Zed/settings.json", zed]);
        let codex = "/nowhere/project/.codex/config.toml";
        check(Windows, "codex", &["/home/ada/.codex/config.toml", codex]);
        let cursor = "/nowhere/project/.cursor/mcp.json";
        check(MacOs, "cursor", &["/home/ada/.cursor/mcp.json", cursor]);
    }

    #[test]
    fn variables_move_files() {
        let mut surroundings = surroundings(System::Linux);
        surroundings.variables = vec![
            ("XDG_CONFIG_HOME".to_owned(), "/elsewhere".to_owned()),
            ("CODEX_HOME".to_owned(), "/codex".to_owned()),
        ];
        let path = |name: &str| {
            let host = host(name).expect("a host");
            surroundings.file_to_write(host, false).expect("a file").path
        };
        assert_eq!(path("codex"), Path::new("/codex/config.toml"));
        assert_eq!(path("zed"), Path::new("/elsewhere/zed/settings.json"));
    }

    #[test]
    fn a_project_reaches_up_to_its_repository() {
        let root = tempfile::tempdir().expect("a directory");
        let inner = root.path().join("a/b");
        std::fs::create_dir_all(root.path().join(".git")).expect("it is ours");
        std::fs::create_dir_all(&inner).expect("it is ours");
        let surroundings = Surroundings { directory: inner.clone(), ..surroundings(System::Linux) };
        let found = surroundings.projects();
        assert_eq!(found, [inner.clone(), root.path().join("a"), root.path().to_owned()]);
        let host = host("cursor").expect("a host");
        let file = surroundings.file_to_write(host, true).expect("a file");
        assert_eq!(file.path, inner.join(".cursor/mcp.json"));
    }

    #[test]
    fn a_repository_that_is_too_far_above_is_not_looked_for() {
        let root = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(root.path().join(".git")).expect("it is ours");
        let mut inner = root.path().to_owned();
        inner.extend(std::iter::repeat_n("d", PROJECT_LEVELS_MAX - 1));
        std::fs::create_dir_all(inner.join("d")).expect("it is ours");
        let projects = |directory: PathBuf| {
            Surroundings { directory, ..surroundings(System::Linux) }.projects().len()
        };
        assert_eq!(projects(inner.clone()), PROJECT_LEVELS_MAX);
        assert_eq!(projects(inner.join("d")), 1);
    }

    #[test]
    fn in_the_home_directory_no_file_is_read_twice() {
        let mut surroundings = surroundings(System::Linux);
        surroundings.directory.clone_from(&surroundings.home);
        for host in HOSTS {
            let mut paths: Vec<PathBuf> =
                surroundings.files(host).into_iter().map(|file| file.path).collect();
            let count = paths.len();
            paths.sort();
            paths.dedup();
            assert_eq!(paths.len(), count, "{}", host.id);
        }
    }
}
