// A server on mcp-go, for measurements: "stdio" or "http PORT". With TOOLS in the environment it has
// so many tools of eight properties each, and otherwise echo and add.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

type text struct {
	Text string `json:"text"`
}

type numbers struct {
	A int `json:"a"`
	B int `json:"b"`
}

type search struct {
	Query    string `json:"query" jsonschema:"What to look for, in the words of the search language of the catalogue"`
	Owner    string `json:"owner" jsonschema:"Whose records to look through, by the name that they log in with"`
	Label    string `json:"label" jsonschema:"A label that each record must have, as it is spelled in the catalogue"`
	State    string `json:"state" jsonschema:"The state that records must be in: open, closed, or all of them"`
	Since    string `json:"since" jsonschema:"Leave out what has not changed since this time, in ISO 8601 format"`
	Page     int    `json:"page" jsonschema:"Which page of the results to return, where the first page is number 1"`
	PerPage  int    `json:"per_page" jsonschema:"How many results a page has, of which there can be one hundred at most"`
	Archived bool   `json:"archived" jsonschema:"Whether to look through records that were put into the archive as well"`
}

func add[T any](to *server.MCPServer, name, description string, run func(T) string) {
	tool := mcp.NewTool(name, mcp.WithDescription(description), mcp.WithInputSchema[T]())
	to.AddTool(tool, mcp.NewTypedToolHandler(func(_ context.Context, _ mcp.CallToolRequest, in T) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(run(in)), nil
	}))
}

func build() *server.MCPServer {
	built := server.NewMCPServer("mcp-go-peer", "1.0.0", server.WithToolCapabilities(false))
	if count, err := strconv.Atoi(os.Getenv("TOOLS")); err == nil {
		for number := range count {
			description := fmt.Sprintf("Looks through catalogue %d and returns the records that have "+
				"everything asked for.", number)
			add(built, fmt.Sprintf("search_%d", number), description, func(in search) string { return in.Query })
		}
		return built
	}
	add(built, "echo", "Returns the text.", func(in text) string { return in.Text })
	add(built, "add", "Adds two integers.", func(in numbers) string { return strconv.Itoa(in.A + in.B) })
	return built
}

func main() {
	built := build()
	switch {
	case len(os.Args) == 2 && os.Args[1] == "stdio":
		// It ends with its client, whatever that is called.
		_ = server.ServeStdio(built)
	case len(os.Args) == 3 && os.Args[1] == "http":
		log.Fatal(server.NewStreamableHTTPServer(built, server.WithStateLess(true)).Start("127.0.0.1:" + os.Args[2]))
	default:
		log.Fatal("stdio, or http PORT")
	}
}
