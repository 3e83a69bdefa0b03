//! Which variables of our own environment a child process has. Used by `process`; knows no values.

use std::ffi::OsStr;
use tokio::process::Command;

/// Which variables of our own environment a child has, beside those that it is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Inherit {
    /// All of them.
    #[default]
    All,
    /// Those that programs need to find their way and their place, and that are not likely to be
    /// secrets: [`Inherit::USUAL`], all `LC_*` and `XDG_*`; and those of these names.
    Usual(Vec<String>),
}

impl Inherit {
    /// The names of the usual variables, with blanks between: those of the official SDKs, and what
    /// servers commonly need beside.
    pub const USUAL: &str = "HOME LANG LANGUAGE LOGNAME PATH SHELL TERM TMPDIR TZ USER \
        ALL_PROXY HTTPS_PROXY HTTP_PROXY NO_PROXY all_proxy http_proxy https_proxy no_proxy \
        CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE SSL_CERT_DIR SSL_CERT_FILE \
        BUN_INSTALL CARGO_HOME CONDA_PREFIX DENO_DIR DOTNET_ROOT GOPATH JAVA_HOME NODE_PATH \
        NVM_DIR PNPM_HOME PYENV_ROOT PYTHONHOME PYTHONPATH RUSTUP_HOME UV_CACHE_DIR VIRTUAL_ENV \
        VOLTA_HOME DYLD_LIBRARY_PATH LD_LIBRARY_PATH \
        DBUS_SESSION_BUS_ADDRESS DISPLAY DOCKER_CONFIG DOCKER_HOST WAYLAND_DISPLAY XAUTHORITY";

    /// Leaves everything else out of what a program would inherit.
    pub(crate) fn apply(&self, command: &mut Command) {
        if let Self::Usual(more) = self {
            let ours = std::env::vars_os().filter(|(name, _)| is_taken(name, more));
            command.env_clear().envs(ours);
        }
    }
}

fn is_taken(name: &OsStr, more: &[String]) -> bool {
    let Some(name) = name.to_str() else { return false };
    name.starts_with("LC_")
        || name.starts_with("XDG_")
        || Inherit::USUAL.split(' ').any(|usual| usual == name)
        || more.iter().any(|one| one == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_secret_is_taken_only_by_name() {
        let more = ["API_TOKEN".to_owned()];
        for (name, expected) in [
            ("PATH", true),
            ("LC_ALL", true),
            ("XDG_RUNTIME_DIR", true),
            ("https_proxy", true),
            ("XAUTHORITY", true),
            ("API_TOKEN", true),
            ("API_TOKEN2", false),
            ("AWS_SECRET_ACCESS_KEY", false),
            ("SSH_AUTH_SOCK", false),
            ("path", false),
            ("", false),
        ] {
            assert_eq!(is_taken(OsStr::new(name), &more), expected, "{name}");
        }
    }
}
