// A server on the official Go package, over the wire that its argument names:
//
//	server stdio|http|sse
//
// The last two listen on a free port of the loopback interface, and say on stderr where.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type numbers struct {
	A int `json:"a"`
	B int `json:"b"`
}

type sum struct {
	Sum int `json:"sum"`
}

type person struct {
	Name string `json:"name" jsonschema:"whom to greet"`
}

func add(_ context.Context, _ *mcp.CallToolRequest, in numbers) (*mcp.CallToolResult, sum, error) {
	return nil, sum{in.A + in.B}, nil
}

func greet(_ context.Context, _ *mcp.CallToolRequest, in person) (*mcp.CallToolResult, any, error) {
	text := &mcp.TextContent{Text: "Hello, " + in.Name + "!"}
	return &mcp.CallToolResult{Content: []mcp.Content{text}}, nil, nil
}

func fail(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
	return nil, nil, errors.New("it cannot be done")
}

func readOne(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	contents := []*mcp.ResourceContents{{URI: "go://one", MIMEType: "text/plain", Text: "one"}}
	return &mcp.ReadResourceResult{Contents: contents}, nil
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "go", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "add", Description: "Adds."}, add)
	mcp.AddTool(server, &mcp.Tool{Name: "greet", Description: "Greets."}, greet)
	mcp.AddTool(server, &mcp.Tool{Name: "fail", Description: "Fails."}, fail)
	server.AddResource(&mcp.Resource{Name: "one", URI: "go://one", MIMEType: "text/plain"}, readOne)
	if err := serve(server, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "go:", err)
		os.Exit(1)
	}
}

func serve(server *mcp.Server, wire string) error {
	this := func(*http.Request) *mcp.Server { return server }
	var handler http.Handler
	switch wire {
	case "stdio":
		return server.Run(context.Background(), &mcp.StdioTransport{})
	case "http":
		handler = mcp.NewStreamableHTTPHandler(this, nil)
	case "sse":
		handler = mcp.NewSSEHandler(this, nil)
	default:
		return fmt.Errorf("no such wire: %s", wire)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "listening at http://%s/mcp\n", listener.Addr())
	return http.Serve(listener, handler)
}
