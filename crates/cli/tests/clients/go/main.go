// The official Go client: connects, and takes every step that it can.
//
//	haft-foreign-go --era modern --url http://127.0.0.1:7300/mcp
//	haft-foreign-go --era auto --call 'greet={"name":"Ada"}' --stdio -- haft serve haft.yaml --stdio
//
// The client has no way to insist on 2026-07-28: `auto` and `modern` both ask with server/discover
// and fall back to `initialize`, and `modern` ends with an error if it did. `legacy` begins with
// `initialize`.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const legacyRevision = "2025-11-25"

type target struct {
	url     string
	command []string
	era     string
	calls   []toolCall
}

type toolCall struct {
	name      string
	arguments json.RawMessage
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "go:", err)
		os.Exit(1)
	}
}

func run() error {
	target, err := readArguments()
	if err != nil {
		return err
	}
	walk := newWalk()
	client := mcp.NewClient(&mcp.Implementation{Name: "haft-foreign-go", Version: "1.0.0"}, walk.options())
	client.AddRoots(&mcp.Root{URI: "file:///one", Name: "one"}, &mcp.Root{URI: "file:///two"})
	walk.step("connect", func(ctx context.Context) (any, error) { return walk.connect(ctx, client, target) })
	if walk.session == nil {
		return errors.New("not connected")
	}
	if len(target.calls) > 0 {
		walk.listAndCall(target.calls)
	} else {
		walk.steps()
	}
	return walk.session.Close()
}

func readArguments() (target, error) {
	var found target
	flag.StringVar(&found.url, "url", "", "the endpoint")
	flag.StringVar(&found.era, "era", "auto", "auto, modern or legacy")
	stdio := flag.Bool("stdio", false, "the command follows a bare --")
	flag.Func("call", `list, and call NAME={"json":1}, instead of the walk`, func(text string) error {
		name, arguments, cut := strings.Cut(text, "=")
		if !cut || !json.Valid([]byte(arguments)) {
			return errors.New(`write NAME={"json":"arguments"}`)
		}
		found.calls = append(found.calls, toolCall{name, json.RawMessage(arguments)})
		return nil
	})
	flag.Parse()
	found.command = flag.Args()
	if *stdio == (found.url != "") || *stdio != (len(found.command) > 0) {
		return found, errors.New("name one target: --url URL, or --stdio -- CMD ARGS")
	}
	return found, nil
}

func (w *walk) connect(ctx context.Context, client *mcp.Client, target target) (any, error) {
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: target.url}
	if target.url == "" {
		command := exec.Command(target.command[0], target.command[1:]...)
		command.Stderr = os.Stderr
		transport = &mcp.CommandTransport{Command: command}
	}
	options := &mcp.ClientSessionOptions{}
	if target.era == "legacy" {
		options.ProtocolVersion = legacyRevision
	}
	session, err := client.Connect(ctx, transport, options)
	if err != nil {
		return nil, err
	}
	w.session = session
	agreed := session.InitializeResult()
	w.modern = agreed.ProtocolVersion > legacyRevision
	era := "legacy"
	if w.modern {
		era = "modern"
	}
	if target.era != "auto" && target.era != era {
		return nil, fmt.Errorf("asked for %s, got %s", target.era, era)
	}
	server := map[string]string{}
	if agreed.ServerInfo != nil {
		server["name"], server["version"] = agreed.ServerInfo.Name, agreed.ServerInfo.Version
	}
	return map[string]any{
		"client":          "go-sdk " + builtWith("github.com/modelcontextprotocol/go-sdk"),
		"era":             era,
		"protocolVersion": agreed.ProtocolVersion,
		"server":          server,
	}, nil
}

func builtWith(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == path {
				return module.Version
			}
		}
	}
	return "unknown"
}
