// A server on the official Go package, for measurements: "stdio" or "http PORT". With TOOLS in the
// environment it has so many tools of eight properties each, and otherwise echo and add.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"
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

func said(text string) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
}

func build() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "go-sdk-peer", Version: "1.0.0"}, nil)
	if count, err := strconv.Atoi(os.Getenv("TOOLS")); err == nil {
		for number := range count {
			tool := &mcp.Tool{
				Name: fmt.Sprintf("search_%d", number),
				Description: fmt.Sprintf("Looks through catalogue %d and returns the records that "+
					"have everything asked for.", number),
			}
			mcp.AddTool(server, tool, func(_ context.Context, _ *mcp.CallToolRequest, in search) (*mcp.CallToolResult, any, error) {
				return said(in.Query)
			})
		}
		return server
	}
	echo := &mcp.Tool{Name: "echo", Description: "Returns the text."}
	mcp.AddTool(server, echo, func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
		return said(in.Text)
	})
	add := &mcp.Tool{Name: "add", Description: "Adds two integers."}
	mcp.AddTool(server, add, func(_ context.Context, _ *mcp.CallToolRequest, in numbers) (*mcp.CallToolResult, any, error) {
		return said(strconv.Itoa(in.A + in.B))
	})
	return server
}

func main() {
	server := build()
	switch {
	case len(os.Args) == 2 && os.Args[1] == "stdio":
		// It ends with its client, whatever that is called.
		_ = server.Run(context.Background(), &mcp.StdioTransport{})
	case len(os.Args) == 3 && os.Args[1] == "http":
		options := &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}
		handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, options)
		mux := http.NewServeMux()
		mux.Handle("/mcp", handler)
		log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[2], mux))
	default:
		log.Fatal("stdio, or http PORT")
	}
}
