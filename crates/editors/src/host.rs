//! Every host whose files are known: what it is called, where it keeps its servers, in which
//! format, under which keys and in which words. A table; read by everything else here.

use crate::format::Format;
use crate::places::{Base, Spot};
use crate::variables::Syntax;

/// An editor, a desktop or a command that starts MCP servers.
#[derive(Debug)]
pub struct Host {
    /// What people type: `claude-desktop`.
    pub id: &'static str,
    /// What it is called: `Claude Desktop`.
    pub title: &'static str,
    /// What people type as well.
    pub aliases: &'static [&'static str],
    /// The keys under which its servers are; new ones go under the first.
    pub(crate) keys: &'static [&'static [&'static str]],
    /// Its files; the first of a kind is written where none exists.
    pub(crate) spots: &'static [Spot],
    /// How it writes down a server.
    pub(crate) dialect: Dialect,
    /// Which variables it fills in.
    pub(crate) syntax: Syntax,
}

/// How an entry looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `command`, `args`, `env`; no URLs.
    CommandOnly,
    /// `command`, `args`, `env`; or `url`, `headers`.
    Plain,
    /// The same with a `type`: what stdio and HTTP are called.
    Typed { stdio: &'static str, http: &'static str },
    /// Plain, with the tools that it may use.
    Copilot,
    /// Plain, with `httpUrl`.
    Gemini,
    /// Plain, with `serverUrl`.
    Windsurf,
    /// `command` is a list.
    OpenCode,
    /// TOML, with `http_headers`.
    Codex,
    /// `cmd`, `envs`, `uri`.
    Goose,
}

const MCP_SERVERS: &[&[&str]] = &[&["mcpServers"]];
const CODE: Syntax = Syntax { env: true, folders: true, ..Syntax::NONE };

const fn user(base: Base, path: &'static str) -> Spot {
    Spot { base, path, is_project: false, is_old: false, format: Format::Json }
}

const fn project(path: &'static str) -> Spot {
    Spot { base: Base::Project, path, is_project: true, is_old: false, format: Format::Json }
}

const CLINE: &str =
    "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json";
const ROO: &str = "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json";

/// All of them, by name.
pub static HOSTS: &[Host] = &[
    Host {
        id: "amazon-q",
        title: "Amazon Q",
        aliases: &["amazonq", "q"],
        keys: MCP_SERVERS,
        spots: &[user(Base::Home, ".aws/amazonq/mcp.json"), project(".amazonq/mcp.json")],
        dialect: Dialect::Plain,
        syntax: CODE,
    },
    Host {
        id: "antigravity",
        title: "Antigravity",
        aliases: &[],
        keys: MCP_SERVERS,
        spots: &[user(Base::Home, ".gemini/antigravity/mcp_config.json")],
        dialect: Dialect::Windsurf,
        syntax: CODE,
    },
    Host {
        id: "claude-code",
        title: "Claude Code",
        aliases: &["claude"],
        keys: MCP_SERVERS,
        spots: &[user(Base::Home, ".claude.json"), project(".mcp.json")],
        dialect: Dialect::Typed { stdio: "stdio", http: "http" },
        syntax: Syntax { braces: true, ..Syntax::NONE },
    },
    Host {
        id: "claude-desktop",
        title: "Claude Desktop",
        aliases: &["desktop"],
        keys: MCP_SERVERS,
        spots: &[user(Base::Config, "Claude/claude_desktop_config.json")],
        dialect: Dialect::CommandOnly,
        syntax: Syntax::NONE,
    },
    Host {
        id: "cline",
        title: "Cline",
        aliases: &[],
        keys: MCP_SERVERS,
        spots: &[user(Base::Config, CLINE)],
        dialect: Dialect::Typed { stdio: "stdio", http: "streamableHttp" },
        syntax: CODE,
    },
    Host {
        id: "codex",
        title: "Codex",
        aliases: &["openai-codex"],
        keys: &[&["mcp_servers"]],
        spots: &[
            Spot {
                base: Base::Variable("CODEX_HOME", ".codex"),
                path: "config.toml",
                is_project: false,
                is_old: false,
                format: Format::Toml,
            },
            Spot {
                base: Base::Project,
                path: ".codex/config.toml",
                is_project: true,
                is_old: false,
                format: Format::Toml,
            },
        ],
        dialect: Dialect::Codex,
        // Made of `bearer_token_env_var` and `env_http_headers`, not typed by anybody.
        syntax: Syntax { env: true, ..Syntax::NONE },
    },
    Host {
        id: "copilot",
        title: "Copilot CLI",
        aliases: &["copilot-cli", "github-copilot"],
        keys: MCP_SERVERS,
        spots: &[user(Base::Home, ".copilot/mcp-config.json")],
        dialect: Dialect::Copilot,
        syntax: Syntax { braces: true, bare: true, ..Syntax::NONE },
    },
    Host {
        id: "cursor",
        title: "Cursor",
        aliases: &[],
        keys: MCP_SERVERS,
        spots: &[user(Base::Home, ".cursor/mcp.json"), project(".cursor/mcp.json")],
        dialect: Dialect::Plain,
        syntax: CODE,
    },
    Host {
        id: "gemini",
        title: "Gemini CLI",
        aliases: &["gemini-cli"],
        keys: MCP_SERVERS,
        spots: &[user(Base::Home, ".gemini/settings.json"), project(".gemini/settings.json")],
        dialect: Dialect::Gemini,
        syntax: Syntax { braces: true, bare: true, ..Syntax::NONE },
    },
    Host {
        id: "goose",
        title: "Goose",
        aliases: &[],
        keys: &[&["extensions"]],
        spots: &[Spot {
            base: Base::DotConfig("Block/goose/config/config.yaml"),
            path: "goose/config.yaml",
            is_project: false,
            is_old: false,
            format: Format::Yaml,
        }],
        dialect: Dialect::Goose,
        syntax: Syntax { braces: true, bare: true, ..Syntax::NONE },
    },
    Host {
        id: "junie",
        title: "Junie",
        aliases: &["jetbrains"],
        keys: MCP_SERVERS,
        spots: &[user(Base::Home, ".junie/mcp/mcp.json"), project(".junie/mcp/mcp.json")],
        dialect: Dialect::Plain,
        syntax: Syntax::NONE,
    },
    Host {
        id: "kiro",
        title: "Kiro",
        aliases: &[],
        keys: MCP_SERVERS,
        spots: &[user(Base::Home, ".kiro/settings/mcp.json"), project(".kiro/settings/mcp.json")],
        dialect: Dialect::Plain,
        syntax: Syntax { braces: true, env: true, ..Syntax::NONE },
    },
    Host {
        id: "lm-studio",
        title: "LM Studio",
        aliases: &["lmstudio"],
        keys: MCP_SERVERS,
        spots: &[user(Base::Home, ".lmstudio/mcp.json")],
        dialect: Dialect::Plain,
        syntax: Syntax::NONE,
    },
    Host {
        id: "opencode",
        title: "OpenCode",
        aliases: &["open-code"],
        keys: &[&["mcp"], &["mcp", "servers"]],
        spots: &[
            user(Base::DotConfig(""), "opencode/opencode.json"),
            user(Base::DotConfig(""), "opencode/opencode.jsonc"),
            project("opencode.json"),
            project("opencode.jsonc"),
            project(".opencode/opencode.json"),
            project(".opencode/opencode.jsonc"),
        ],
        dialect: Dialect::OpenCode,
        syntax: Syntax { curly: true, ..Syntax::NONE },
    },
    Host {
        id: "roo",
        title: "Roo Code",
        aliases: &["roo-code"],
        keys: MCP_SERVERS,
        spots: &[user(Base::Config, ROO), project(".roo/mcp.json")],
        dialect: Dialect::Typed { stdio: "stdio", http: "streamable-http" },
        syntax: CODE,
    },
    Host {
        id: "visual-studio",
        title: "Visual Studio",
        aliases: &["vs"],
        keys: &[&["servers"]],
        spots: &[user(Base::Home, ".mcp.json"), project(".vs/mcp.json")],
        dialect: Dialect::Typed { stdio: "stdio", http: "http" },
        syntax: Syntax { inputs: true, ..CODE },
    },
    Host {
        id: "vscode",
        title: "VS Code",
        aliases: &["code", "vs-code"],
        keys: &[&["servers"], &["mcp", "servers"]],
        spots: &[
            user(Base::Config, "Code/User/mcp.json"),
            Spot { is_old: true, ..user(Base::Config, "Code/User/settings.json") },
            project(".vscode/mcp.json"),
        ],
        dialect: Dialect::Typed { stdio: "stdio", http: "http" },
        syntax: Syntax { inputs: true, ..CODE },
    },
    Host {
        id: "windsurf",
        title: "Windsurf",
        aliases: &["codeium"],
        keys: MCP_SERVERS,
        spots: &[user(Base::Home, ".codeium/windsurf/mcp_config.json")],
        dialect: Dialect::Windsurf,
        syntax: CODE,
    },
    Host {
        id: "zed",
        title: "Zed",
        aliases: &[],
        keys: &[&["context_servers"]],
        spots: &[
            user(Base::DotConfig("Zed/settings.json"), "zed/settings.json"),
            project(".zed/settings.json"),
        ],
        dialect: Dialect::Plain,
        syntax: Syntax::NONE,
    },
];

/// The host of this name, in any case; `None` if there is none.
#[must_use]
pub fn host(name: &str) -> Option<&'static Host> {
    let is_name = |known: &str| known.eq_ignore_ascii_case(name);
    HOSTS.iter().find(|host| is_name(host.id) || host.aliases.iter().any(|alias| is_name(alias)))
}

impl Host {
    /// Whether it reaches servers by their URLs.
    #[must_use]
    pub fn takes_urls(&self) -> bool {
        self.dialect != Dialect::CommandOnly
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_means_two_hosts_and_all_are_in_order() {
        let mut names: Vec<&str> = Vec::new();
        for host in HOSTS {
            names.push(host.id);
            names.extend(host.aliases);
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(HOSTS.is_sorted_by_key(|host| host.id));
        assert_eq!(host("VSCode").map(|host| host.id), Some("vscode"));
    }

    #[test]
    fn every_host_has_a_file_of_the_user() {
        for host in HOSTS {
            assert!(!host.spots[0].is_project, "{}", host.id);
        }
    }
}
