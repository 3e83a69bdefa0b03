//! Servers go into the files of every host and come out again, and not a byte is lost.

use super::{Home, example};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

const SECRET: &str = "hunter2";

/// Where a host has its file, and what may be in it.
struct Sample {
    host: &'static str,
    file: &'static str,
    text: &'static str,
}

const SAMPLES: &[Sample] = &[
    Sample {
        host: "claude-desktop",
        file: ".config/Claude/claude_desktop_config.json",
        text: "{\n  \"mcpServers\": {\n    \"fs\": {\n      \"command\": \"npx\",\n      \"args\": \
               [\"-y\", \"fs\"]\n    }\n  },\n  \"globalShortcut\": \"\"\n}\n",
    },
    Sample {
        host: "claude-desktop",
        file: ".config/Claude/claude_desktop_config.json",
        text: "{}",
    },
    Sample {
        host: "claude-code",
        file: ".claude.json",
        text: "{\"numStartups\":3,\"mcpServers\":{\"a\":{\"type\":\"http\",\"url\":\"https://h\"}},\
               \"projects\":{\"/p\":{\"history\":[\"a, b\"]}}}",
    },
    Sample { host: "cursor", file: ".cursor/mcp.json", text: "{ \"mcpServers\": {} }\n" },
    Sample {
        host: "vscode",
        file: ".config/Code/User/mcp.json",
        text: "// mine\r\n{\r\n\t\"inputs\": [{ \"id\": \"t\", \"type\": \"promptString\" }],\r\n\t\
               \"servers\": {\r\n\t\t\"a\": { \"command\": \"x\" }, // keep, this\r\n\t\t/* and \
               */\r\n\t},\r\n}\r\n",
    },
    Sample {
        host: "zed",
        file: ".config/zed/settings.json",
        text: "// Zed settings\n//\n{\n  \"theme\": \"One Dark\", // dark\n  \"vim_mode\": true,\n\
               \x20 // \"context_servers\": {},\n}\n",
    },
    Sample {
        host: "codex",
        file: ".codex/config.toml",
        text: "model = \"o9\" # the best\n\n[mcp_servers.a]\ncommand = \"x\"\n\n# about b\n\
               [profiles.b]\nmodel = 'y' # last",
    },
    Sample { host: "codex", file: ".codex/config.toml", text: "# nothing here yet\n\n\n" },
    Sample {
        host: "gemini",
        file: ".gemini/settings.json",
        text: "{\n    \"theme\": \"x\",\n    \"mcpServers\": {\n    }\n}",
    },
    Sample {
        host: "windsurf",
        file: ".codeium/windsurf/mcp_config.json",
        text: "\u{feff}{\n  \"mcpServers\": {\"a\": {\"serverUrl\": \"https://h\"}}\n}\n",
    },
    Sample {
        host: "opencode",
        file: ".config/opencode/opencode.jsonc",
        text: "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  // local\n  \"mcp\": {\n\
               \x20   \"a\": { \"type\": \"local\", \"command\": [\"x\"] },\n  },\n}\n",
    },
    Sample {
        host: "goose",
        file: ".config/goose/config.yaml",
        text: "GOOSE_MODEL: x # y\n\nextensions:\n  # first\n  developer:\n    bundled: true\n    \
               enabled: true\n    type: builtin\n  # last\n\nGOOSE_MODE: auto\n",
    },
    Sample { host: "goose", file: ".config/goose/config.yaml", text: "extensions: {} # none\n" },
    Sample { host: "goose", file: ".config/goose/config.yaml", text: "GOOSE_MODEL: x" },
    Sample {
        host: "cline",
        file: ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/\
               cline_mcp_settings.json",
        text: "",
    },
    Sample {
        host: "amazon-q",
        file: ".aws/amazonq/mcp.json",
        text: "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"x\",\n      \"timeout\": \
               60000\n    } // mine\n  }\n}",
    },
    Sample {
        host: "antigravity",
        file: ".gemini/antigravity/mcp_config.json",
        text: "/* mine */ {\"mcpServers\": {\"a\": {\"serverUrl\": \"https://h\"} /* last */}}\n",
    },
    Sample {
        host: "junie",
        file: ".junie/mcp/mcp.json",
        text: "{\n\t\"mcpServers\": {\n\t\t\"a\": { \"command\": \"x\" }\n\t}\n}\n\n",
    },
    Sample {
        host: "kiro",
        file: ".kiro/settings/mcp.json",
        text: "{\r\n  \"mcpServers\": {\r\n    // first\r\n    \"a\": {\"command\": \"x\", \
               \"disabled\": true,},\r\n  },\r\n  \"powers\": {}\r\n}",
    },
    Sample {
        host: "lm-studio",
        file: ".lmstudio/mcp.json",
        text: "{\"mcpServers\":{},\"plugins\":[\"mcpServers\"]}",
    },
    Sample {
        host: "roo",
        file: ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/\
               mcp_settings.json",
        text: "{\n  // none yet, but \"desk\" may come\n  \"mcpServers\": {\n    // here\n  }\n}\n",
    },
    Sample {
        host: "visual-studio",
        file: ".mcp.json",
        text: "\u{feff}{\r\n  \"inputs\": [], // none\r\n  \"servers\": {\r\n    \"a\": {\r\n      \
               \"type\": \"http\",\r\n      \"url\": \"https://h\"\r\n    }\r\n  }\r\n}\r\n",
    },
    Sample {
        host: "copilot",
        file: ".copilot/mcp-config.json",
        text: "{\n\t\"mcpServers\": {}\n}",
    },
];

/// All bytes of `old` are in `new`, in their order.
fn is_within(old: &str, new: &str) -> bool {
    let mut rest = new.bytes();
    old.bytes().all(|byte| rest.any(|other| other == byte))
}

#[test]
fn a_server_goes_into_every_hosts_file_and_comes_out_again() {
    let file = example();
    for Sample { host, file: inner, text } in SAMPLES {
        let home = Home::new();
        home.write(inner, text);
        let ran = home.haft(&["install", &file, "--in", host, "--name", "desk", "--env", "K=v w"]);
        assert_eq!(ran.code, Some(0), "{host}: {ran:?}");
        let installed = home.read(inner);
        // A mapping of YAML on one line becomes one of several.
        let kept = if *host == "goose" { text.replace(" {}", "") } else { (*text).to_owned() };
        assert!(installed.contains("desk") && is_within(&kept, &installed), "{host}: {installed}");
        let found = home.haft(&["discover", "--source", host, "--json"]).json();
        assert_eq!(found["faults"], json!([]), "{host}: {installed}");
        let servers = found["servers"].as_array().expect("a list");
        let desk = servers.iter().find(|server| server["name"] == "desk").expect("it is there");
        assert_eq!(desk["command"], env!("CARGO_BIN_EXE_haft"));
        assert_eq!(desk["args"], json!(["serve", file, "--stdio"]));
        assert_eq!(desk["env"], json!(["K"]));
        // The same again changes nothing.
        let ran = home.haft(&["install", &file, "--in", host, "--name", "desk", "--env", "K=v w"]);
        assert!(ran.printed().contains("already"), "{host}: {ran:?}");
        assert_eq!(home.read(inner), installed);
        let ran = home.haft(&["uninstall", "desk", "--in", host]);
        assert_eq!(ran.code, Some(0), "{host}: {ran:?}");
        assert_eq!(&home.read(inner), text, "{host}");
        let name = inner.rsplit('/').next().expect("a name");
        let left: Vec<String> =
            home.beside(inner).into_iter().filter(|other| other.contains(name)).collect();
        assert_eq!(left, [name], "{host}");
        let ran = home.haft(&["uninstall", "desk", "--in", host]);
        assert!(ran.printed().contains("is not in"), "{host}: {ran:?}");
    }
}

#[test]
fn what_others_change_meanwhile_stays() {
    let file = example();
    for Sample { host, file: inner, text } in SAMPLES {
        let home = Home::new();
        home.write(inner, text);
        home.haft(&["install", &file, "--in", host, "--name", "one"]).printed();
        home.haft(&["install", &file, "--in", host, "--name", "two"]).printed();
        home.haft(&["uninstall", "one", "--in", host]).printed();
        let left = home.haft(&["discover", "--source", host, "--json"]).json();
        let names: Vec<&str> = left["servers"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|server| server["name"].as_str())
            .collect();
        assert!(names.contains(&"two") && !names.contains(&"one"), "{host}: {names:?}");
        // What it was is kept beside it.
        let backups = home.beside(inner).into_iter().filter(|name| name.ends_with(".bak")).count();
        assert_eq!(backups, 2, "{host}");
        assert!(is_within(text.trim_end(), &home.read(inner)) || *host == "goose", "{host}");
    }
}

#[test]
fn another_server_of_that_name_is_replaced_only_on_demand() {
    let home = Home::new();
    let text = "{\n  \"mcpServers\": {\n    \"desk\": {\"command\": \"old\"}, // mine\n    \
                \"b\": {}\n  }\n}\n";
    home.write(".cursor/mcp.json", text);
    let ran = home.haft(&["install", &example(), "--in", "cursor", "--name", "desk"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("another server named `desk`") && ran.stderr.contains("--replace"));
    assert_eq!(home.read(".cursor/mcp.json"), text);
    let ran = home.haft(&["install", &example(), "--in", "cursor", "--name", "desk", "--replace"]);
    assert!(ran.printed().contains("replaced"), "{ran:?}");
    let replaced = home.read(".cursor/mcp.json");
    assert!(replaced.contains("// mine") && !replaced.contains("old"), "{replaced}");
    assert_eq!(home.read(".cursor/mcp.json.before-desk.bak"), text);
    // The old one does not come back by taking the new one out.
    home.haft(&["uninstall", "desk", "--in", "cursor"]).printed();
    let left = home.read(".cursor/mcp.json");
    assert!(!left.contains("desk") && left.contains("// mine") && left.contains("\"b\""), "{left}");
}

#[test]
fn a_secret_goes_with_the_server_that_had_it() {
    let home = Home::new();
    let before = "{\"mine\": 1}\n";
    home.write(".cursor/mcp.json", before);
    let file = example();
    home.haft(&["install", &file, "--in", "cursor", "--name", "desk"]);
    let ran = home.haft_with(
        &["install", &file, "--in", "cursor", "--name", "desk", "--env", "DESK_KEY", "--replace"],
        &[("DESK_KEY", "hunter2")],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(home.read(".cursor/mcp.json").contains("hunter2"));
    assert_eq!(home.haft(&["uninstall", "desk", "--in", "cursor"]).code, Some(0));
    assert_eq!(home.read(".cursor/mcp.json"), before);
    let directory = home.path(".cursor");
    let left = std::fs::read_dir(directory).expect("it is there").count();
    assert_eq!(left, 1, "no backup stays");
}

#[test]
fn a_new_file_is_its_owners_and_an_old_one_keeps_its_mode_and_its_link() {
    let home = Home::new();
    home.haft(&["install", &example(), "--in", "cursor"]).printed();
    let mode = |inner: &str| {
        let meta = std::fs::metadata(home.path(inner)).expect("it is there");
        meta.permissions().mode() & 0o777
    };
    assert_eq!(mode(".cursor/mcp.json"), 0o600);
    home.write("dotfiles/zed.json", "{}\n");
    let real = home.path("dotfiles/zed.json");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).expect("it is ours");
    std::fs::create_dir_all(home.path(".config/zed")).expect("it is ours");
    let link = home.path(".config/zed/settings.json");
    std::os::unix::fs::symlink(&real, &link).expect("it is ours");
    home.haft(&["install", &example(), "--in", "zed"]).printed();
    assert!(link.is_symlink() && home.read("dotfiles/zed.json").contains("quickstart"));
    assert_eq!(mode("dotfiles/zed.json"), 0o640);
    assert_eq!(mode("dotfiles/zed.json.before-quickstart.bak"), 0o640);
}

#[test]
fn a_dry_run_shows_all_and_writes_nothing() {
    let home = Home::new();
    let token = format!("TOKEN={SECRET}");
    let args = ["install", &example(), "--in", "codex", "--env", &token, "--dry-run"];
    let ran = home.haft(&args);
    let shown = ran.printed();
    assert!(shown.contains("would be added") && shown.contains("TOKEN"), "{shown}");
    assert!(!home.path(".codex").exists());
    let report = home.haft(&[&args[..], &["--json"]].concat());
    assert_eq!(report.json()["edits"][0]["change"], "added");
    assert!(!format!("{ran:?}{report:?}").contains(SECRET));
}

#[test]
fn a_secret_is_written_and_never_shown() {
    let home = Home::new();
    let file = example();
    let args = ["install", &file, "--in", "goose", "--env", "TOKEN"];
    let ran = home.haft(&args);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let ran = home.haft_with(&args, &[("TOKEN", SECRET)]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(home.read(".config/goose/config.yaml").contains(SECRET));
    let args = ["install", "--url", "https://h.example/mcp", "-H", "Authorization: hunter2"];
    let url = home.haft(&[&args[..], &["--in", "vscode", "--json"]].concat());
    assert_eq!(url.json()["edits"][0]["entry"]["headers"]["Authorization"], "…");
    // Each of these hosts has a word of its own for an address.
    let url = "https://me:hunter2@h.example/mcp?api_key=hunter2&x=#hunter2";
    for host in ["cursor", "gemini", "windsurf", "goose", "codex", "opencode", "copilot"] {
        let args = ["install", "--url", url, "--name", "far", "--in", host];
        for more in [&["--dry-run"][..], &["--json", "--dry-run"], &["--json"], &[]] {
            let ran = home.haft(&[&args[..], more].concat());
            assert_eq!(ran.code, Some(0), "{host}: {ran:?}");
            assert!(!format!("{ran:?}").contains(SECRET), "{host} {more:?}: {ran:?}");
        }
        let path = home.haft(&["install", "--in", host, "--config-path"]);
        let written = std::fs::read_to_string(path.printed().trim_end()).expect("it is written");
        assert!(written.contains(url), "{host}: {written}");
    }
    let shown = home.haft(&["install", "--url", url, "--name", "f", "--in", "zed"]);
    assert!(shown.printed().contains("https://h.example/mcp?api_key=…"), "{shown:?}");
    // A name does not make it one.
    for more in [&[][..], &["--name", "x"]] {
        let foo = home.haft(&[&["install", "--url", "foo", "--in", "zed"], more].concat());
        assert_eq!(foo.code, Some(2), "{foo:?}");
        assert!(foo.stderr.contains("no http:// or https:// URL"), "{foo:?}");
    }
    let bad = home.haft(&["install", "--url", "htp://me:hunter2@h/mcp?k=hunter2", "--in", "zed"]);
    assert!(bad.code == Some(2) && !format!("{bad:?}").contains(SECRET), "{bad:?}");
    let found = home.haft(&["discover", "--json"]);
    assert!(!format!("{ran:?}{found:?}").contains(SECRET));
}

#[test]
fn one_command_serves_many_hosts_or_none() {
    let home = Home::new();
    home.write(".cursor/mcp.json", "{ broken");
    let args = ["install", &example(), "--in", "zed", "--in", "cursor", "--project"];
    assert_eq!(home.haft(&args).code, Some(0));
    assert!(home.path("project/.zed/settings.json").exists());
    assert!(home.path("project/.cursor/mcp.json").exists());
    let ran = home.haft(&["install", &example(), "--in", "gemini", "--in", "cursor"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("~/.cursor/mcp.json: it is not JSON"), "{ran:?}");
    assert!(!home.path(".gemini").exists());
    assert_eq!(home.read(".cursor/mcp.json"), "{ broken");
}

#[test]
fn a_host_that_is_named_twice_is_edited_once() {
    let home = Home::new();
    for (verb, server) in [("install", example()), ("uninstall", "quickstart".to_owned())] {
        let args = [verb, &server, "--in", "vscode", "--in", "code", "--in", "vscode", "--json"];
        let ran = home.haft(&args);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(ran.json()["edits"].as_array().map(Vec::len), Some(1), "{ran:?}");
    }
}

#[test]
fn what_was_written_before_a_failure_is_told() {
    let home = Home::new();
    let file = example();
    // Where the second host's file should be made, no directory can be.
    std::os::unix::fs::symlink(home.path("gone"), home.path(".gemini")).expect("it is ours");
    let hosts = ["--in", "cursor", "--in", "gemini", "--in", "zed"];
    let args = [&["install", &*file, "--json"], &hosts[..]].concat();
    let ran = home.haft(&args);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let report = ran.json();
    let told: Vec<_> = report["edits"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|edit| (edit["host"].as_str(), edit["change"].as_str()))
        .collect();
    assert_eq!(told, [(Some("cursor"), Some("added"))], "{ran:?}");
    assert!(ran.stderr.contains("cannot make ") && ran.stderr.contains(".gemini"), "{ran:?}");
    assert!(home.path(".cursor/mcp.json").exists() && !home.path(".config/zed").exists());
}

#[test]
fn the_backup_of_before_haft_came_outlives_an_uninstall() {
    let home = Home::new();
    let before = "{\"mine\": 1}\n";
    home.write(".cursor/mcp.json", before);
    let file = example();
    let token = format!("TOKEN={SECRET}");
    home.haft(&["install", &file, "--in", "cursor", "--name", "desk", "--env", &token]).printed();
    let edited = home.read(".cursor/mcp.json").replace("\"mine\": 1", "\"mine\": 2");
    home.write(".cursor/mcp.json", &edited);
    let ran = home.haft(&["uninstall", "desk", "--in", "cursor"]);
    assert!(ran.printed().contains("The file as it was: ~/.cursor/mcp.json.before-desk.bak"));
    assert_eq!(home.read(".cursor/mcp.json.before-desk.bak"), before);
    assert!(home.read(".cursor/mcp.json").contains("\"mine\": 2"));
    for name in home.beside(".cursor/mcp.json") {
        assert!(!home.read(&format!(".cursor/{name}")).contains(SECRET), "{name}");
    }
}

#[test]
fn what_cannot_be_installed_says_why() {
    let home = Home::new();
    let file = example();
    for (args, expected) in [
        (vec!["--in", "cursr"], "did you mean cursor?"),
        (vec!["--in", "nonsense"], "it knows amazon-q"),
        (vec!["--in", "windsurf", "--project"], "keeps no servers in projects"),
        (vec!["--in", "zed", "--name", "a/b"], "no name for a server"),
        (vec!["--in", "zed", "--env", "=x"], "--env must be NAME=VALUE"),
    ] {
        let ran = home.haft(&[&["install", &file], &args[..]].concat());
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{args:?}: {ran:?}");
    }
    let url = ["install", "--url", "https://h/mcp", "--in", "claude-desktop"];
    assert!(home.haft(&url).stderr.contains("Claude Desktop reaches no URLs"));
    home.write("bad.yaml", "server: { name: x }\ntols: []\n");
    let bad = home.path("bad.yaml");
    let ran = home.haft(&["install", bad.to_str().expect("UTF-8"), "--in", "zed"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("did you mean `tools`?"), "{ran:?}");
    assert!(home.beside("bad.yaml").iter().all(|name| name == "bad.yaml" || name == "project"));
}

#[test]
fn the_path_of_a_hosts_file_is_told() {
    let home = Home::new();
    let ran = home.haft(&["install", "--in", "claude-desktop", "--config-path"]);
    let expected = home.path(".config/Claude/claude_desktop_config.json");
    assert_eq!(ran.printed().trim_end(), expected.to_str().expect("UTF-8"));
}

#[test]
fn a_variable_that_the_file_needs_is_asked_for() {
    let home = Home::new();
    let yaml = "server: { name: desk }\ntools:\n  - name: a\n    description: A.\n    \
                command: [env]\n    env: { T: \"${env:DESK_TOKEN}\" }\n";
    home.write("project/haft.yaml", yaml);
    let ran = home.haft_with(&["install", "haft.yaml", "--in", "zed"], &[("DESK_TOKEN", SECRET)]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("--env DESK_TOKEN gives it"), "{ran:?}");
    let zed: Value = serde_json::from_str(&home.read(".config/zed/settings.json")).expect("JSON");
    let file = home.path("project/haft.yaml");
    assert_eq!(zed["context_servers"]["desk"]["args"][1], file.to_str().expect("UTF-8"));
}

#[test]
fn every_host_gets_a_file_where_it_has_none() {
    for host in haft_editors::HOSTS {
        let home = Home::new();
        let args = ["install", &example(), "--in", host.id, "--name", "desk"];
        assert!(home.haft(&args).printed().contains("added"), "{}", host.id);
        let found = home.haft(&["discover", "--source", host.id, "--json"]).json();
        assert_eq!(found["servers"][0]["name"], "desk", "{}", host.id);
        assert_eq!(home.haft(&["list", "desk", "--json"]).json()["server"]["name"], "quickstart");
        let ran = home.haft(&["uninstall", "desk1", "--in", host.id]);
        assert!(ran.stderr.contains("did you mean desk?"), "{}: {ran:?}", host.id);
        let path = home.haft(&["install", "--in", host.id, "--config-path"]);
        let path = std::path::PathBuf::from(path.printed().trim_end());
        assert!(path.exists(), "{}", host.id);
        let ran = home.haft(&["uninstall", "desk", "--in", host.id]);
        assert!(ran.printed().contains("is gone"), "{}: {ran:?}", host.id);
        assert!(!path.exists(), "{}", host.id);
    }
}

#[test]
fn every_host_is_among_the_samples() {
    for host in haft_editors::HOSTS {
        assert!(SAMPLES.iter().any(|sample| sample.host == host.id), "{}", host.id);
    }
}

/// VS Code has kept servers under `mcp` of its settings.
#[test]
fn a_server_is_taken_out_of_a_hosts_second_place() {
    let home = Home::new();
    let inner = ".config/Code/User/settings.json";
    let text = r#"{
  // editor
  "editor.tabSize": 2, /* two */
  "mcp": {
    "inputs": [],
    "servers": {
      "a": { "command": "x" }, // first
      "desk": { "command": "old" } // second
    },
  },
}
"#;
    home.write(inner, text);
    let found = home.haft(&["discover", "--source", "vscode", "--json"]).json();
    assert_eq!(found["servers"].as_array().map(Vec::len), Some(2), "{found}");
    let ran = home.haft(&["uninstall", "desk", "--in", "vscode"]);
    assert!(ran.printed().contains("settings.json"), "{ran:?}");
    let left = home.read(inner);
    for kept in ["// editor", "/* two */", "\"a\": { \"command\": \"x\" }", "// first"] {
        assert!(left.contains(kept), "{kept}: {left}");
    }
    assert!(!left.contains("desk"), "{left}");
    assert_eq!(home.read(&format!("{inner}.before-desk.bak")), text);
}

#[test]
fn a_server_is_taken_out_of_the_file_that_has_it() {
    let home = Home::new();
    let old = "{\n  // mine\n  \"mcp\": { \"servers\": { \"a\": { \"command\": \"x\" }, \"b\": { \
               \"command\": \"y\" } } }\n}\n";
    home.write(".config/Code/User/settings.json", old);
    home.write(".config/Code/User/mcp.json", "{\"servers\": {}}");
    home.haft(&["uninstall", "a", "--in", "vscode"]).printed();
    let left = home.read(".config/Code/User/settings.json");
    assert_eq!(left, old.replace(" \"a\": { \"command\": \"x\" },", ""));
    assert_eq!(home.read(".config/Code/User/mcp.json"), "{\"servers\": {}}");
}
