package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	stepLimit = 20 * time.Second
	watched   = "test://watched-resource"
)

// What a step returns that the client has no way to do.
type unable string

func (u unable) Error() string { return string(u) }

// The steps and what they hear. Handlers belong to the client, so they send to channels.
type walk struct {
	session  *mcp.ClientSession
	modern   bool
	progress chan float64
	logged   chan any
	updated  chan string
	changed  chan struct{}
}

func newWalk() *walk {
	return &walk{
		progress: make(chan float64, 100),
		logged:   make(chan any, 100),
		updated:  make(chan string, 100),
		changed:  make(chan struct{}, 100),
	}
}

func (w *walk) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{
		ElicitationHandler:   answerElicitation,
		CreateMessageHandler: answerSampling,
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			w.progress <- r.Params.Progress
		},
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			w.logged <- r.Params.Data
		},
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			w.updated <- r.Params.URI
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			w.changed <- struct{}{}
		},
	}
}

func answerElicitation(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	schema, _ := r.Params.RequestedSchema.(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	content := map[string]any{}
	for name := range properties {
		content[name] = "Alice"
		if name == "email" {
			content[name] = "alice@example.com"
		}
	}
	return &mcp.ElicitResult{Action: "accept", Content: content}, nil
}

func answerSampling(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	content := &mcp.TextContent{Text: "Paris"}
	return &mcp.CreateMessageResult{Role: "assistant", Model: "none", Content: content}, nil
}

// Prints what came of a step; the next one is taken all the same.
func (w *walk) step(name string, run func(context.Context) (any, error)) {
	ctx, stop := context.WithTimeout(context.Background(), stepLimit)
	defer stop()
	line := map[string]any{"step": name}
	detail, err := run(ctx)
	var reason unable
	switch {
	case errors.As(err, &reason):
		line["skipped"] = reason.Error()
	case err != nil:
		line["ok"], line["detail"] = false, err.Error()
	default:
		line["ok"], line["detail"] = true, detail
	}
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		fmt.Fprintln(os.Stderr, "go:", err)
	}
}

func (w *walk) listAndCall(calls []toolCall) {
	w.step("list_tools", func(ctx context.Context) (any, error) {
		var names []string
		for tool, err := range w.session.Tools(ctx, nil) {
			if err != nil {
				return nil, err
			}
			names = append(names, tool.Name)
		}
		return names, nil
	})
	for _, call := range calls {
		w.step("call_tool", func(ctx context.Context) (any, error) {
			return w.session.CallTool(ctx, &mcp.CallToolParams{Name: call.name, Arguments: call.arguments})
		})
	}
}

func (w *walk) steps() {
	w.step("list_tools", w.listTools)
	w.step("call_tool", func(ctx context.Context) (any, error) {
		return w.says(ctx, "test_simple_text", nil, "This is a simple text response for testing.")
	})
	w.step("tool_error", w.toolError)
	w.step("list_resources", w.listResources)
	w.step("read_resource", func(ctx context.Context) (any, error) {
		return w.reads(ctx, "test://static-text", "This is the content of the static text resource.")
	})
	w.step("list_templates", w.listTemplates)
	w.step("read_template", func(ctx context.Context) (any, error) {
		return w.reads(ctx, "test://template/123/data", "Data for ID: 123")
	})
	w.step("list_prompts", w.listPrompts)
	w.step("get_prompt", w.getPrompt)
	w.step("complete", w.complete)
	w.step("progress", w.hearProgress)
	w.step("log", w.hearLog)
	w.step("elicit", w.elicit)
	w.step("sample", w.sample)
	w.step("roots", func(ctx context.Context) (any, error) {
		return w.says(ctx, "test_roots", nil, "roots: 2")
	})
	w.step("resource_updated", w.hearUpdate)
	w.step("list_changed", w.hearChange)
	w.step("cancel", w.cancel)
	w.step("ping", w.ping)
}

func (w *walk) says(ctx context.Context, tool string, arguments any, part string) (any, error) {
	if arguments == nil {
		arguments = map[string]any{}
	}
	result, err := w.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return nil, err
	}
	if len(result.Content) == 1 && !result.IsError {
		if text, ok := result.Content[0].(*mcp.TextContent); ok && strings.Contains(text.Text, part) {
			return text.Text, nil
		}
	}
	return nil, otherwise(result)
}

func otherwise(got any) error {
	text, err := json.Marshal(got)
	return errors.Join(errors.New(string(text)), err)
}

func (w *walk) listTools(ctx context.Context) (any, error) {
	list, err := w.session.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(list.Tools, func(t *mcp.Tool) bool { return t.Name == "test_simple_text" }) {
		return nil, otherwise(list.Tools)
	}
	return len(list.Tools), nil
}

func (w *walk) toolError(ctx context.Context) (any, error) {
	result, err := w.session.CallTool(ctx, &mcp.CallToolParams{Name: "test_error_handling"})
	if err == nil && !result.IsError {
		err = otherwise(result)
	}
	return nil, err
}

func (w *walk) listResources(ctx context.Context) (any, error) {
	list, err := w.session.ListResources(ctx, nil)
	if err != nil {
		return nil, err
	}
	static := func(r *mcp.Resource) bool { return r.URI == "test://static-text" }
	if !slices.ContainsFunc(list.Resources, static) {
		return nil, otherwise(list.Resources)
	}
	return len(list.Resources), nil
}

func (w *walk) reads(ctx context.Context, uri, part string) (any, error) {
	result, err := w.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err == nil && (len(result.Contents) != 1 || !strings.Contains(result.Contents[0].Text, part)) {
		err = otherwise(result)
	}
	return nil, err
}

func (w *walk) listTemplates(ctx context.Context) (any, error) {
	list, err := w.session.ListResourceTemplates(ctx, nil)
	if err != nil {
		return nil, err
	}
	wanted := func(t *mcp.ResourceTemplate) bool { return t.URITemplate == "test://template/{id}/data" }
	if !slices.ContainsFunc(list.ResourceTemplates, wanted) {
		return nil, otherwise(list.ResourceTemplates)
	}
	return len(list.ResourceTemplates), nil
}

func (w *walk) listPrompts(ctx context.Context) (any, error) {
	list, err := w.session.ListPrompts(ctx, nil)
	if err != nil {
		return nil, err
	}
	wanted := func(p *mcp.Prompt) bool { return p.Name == "test_prompt_with_arguments" }
	if !slices.ContainsFunc(list.Prompts, wanted) {
		return nil, otherwise(list.Prompts)
	}
	return len(list.Prompts), nil
}

func (w *walk) getPrompt(ctx context.Context) (any, error) {
	arguments := map[string]string{"arg1": "ein", "arg2": "zwei"}
	params := &mcp.GetPromptParams{Name: "test_prompt_with_arguments", Arguments: arguments}
	prompt, err := w.session.GetPrompt(ctx, params)
	if err != nil {
		return nil, err
	}
	if text, ok := prompt.Messages[0].Content.(*mcp.TextContent); !ok ||
		text.Text != "Prompt with arguments: arg1='ein', arg2='zwei'" {
		return nil, otherwise(prompt)
	}
	return nil, nil
}

func (w *walk) complete(ctx context.Context) (any, error) {
	result, err := w.session.Complete(ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "test_prompt_with_arguments"},
		Argument: mcp.CompleteParamsArgument{Name: "arg1", Value: "test"},
	})
	if err != nil {
		return nil, err
	}
	values := result.Completion.Values
	if !slices.Equal(values, []string{"test", "testing", "tested"}) {
		return nil, otherwise(values)
	}
	return values, nil
}

func (w *walk) hearProgress(ctx context.Context) (any, error) {
	params := &mcp.CallToolParams{Name: "test_tool_with_progress", Meta: mcp.Meta{}}
	params.SetProgressToken("walk")
	if _, err := w.session.CallTool(ctx, params); err != nil {
		return nil, err
	}
	seen, err := receive(ctx, w.progress, 3)
	if err == nil && !slices.Equal(seen, []float64{0, 50, 100}) {
		err = otherwise(seen)
	}
	return seen, err
}

func (w *walk) hearLog(ctx context.Context) (any, error) {
	params := &mcp.CallToolParams{Name: "test_tool_with_logging"}
	if w.modern {
		params.Meta = mcp.Meta{mcp.MetaKeyLogLevel: "debug"}
	} else if err := w.session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "debug"}); err != nil {
		return nil, err
	}
	if _, err := w.session.CallTool(ctx, params); err != nil {
		return nil, err
	}
	seen, err := receive(ctx, w.logged, 3)
	if err == nil && !slices.Equal(seen, []any{
		"Tool execution started", "Tool processing data", "Tool execution completed",
	}) {
		err = otherwise(seen)
	}
	return len(seen), err
}

func (w *walk) elicit(ctx context.Context) (any, error) {
	if w.modern {
		return w.says(ctx, "test_input_required_result_elicitation", nil, "Hello, Alice!")
	}
	return w.says(ctx, "test_elicitation", map[string]any{"message": "Who?"}, "action=accept")
}

func (w *walk) sample(ctx context.Context) (any, error) {
	if w.modern {
		return w.says(ctx, "test_input_required_result_sampling", nil, "Paris")
	}
	return w.says(ctx, "test_sampling", map[string]any{"prompt": "Where?"}, "LLM response: Paris")
}

func (w *walk) hearUpdate(ctx context.Context) (any, error) {
	if err := w.session.Subscribe(ctx, &mcp.SubscribeParams{URI: watched}); err != nil {
		return nil, err
	}
	if _, err := w.says(ctx, "test_update_watched", nil, ""); err != nil {
		return nil, err
	}
	seen, err := receive(ctx, w.updated, 1)
	if err == nil && seen[0] != watched {
		err = otherwise(seen)
	}
	return nil, errors.Join(err, w.session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: watched}))
}

// The client asks for these by itself when it connects, because it was given a handler.
func (w *walk) hearChange(ctx context.Context) (any, error) {
	if _, err := w.says(ctx, "test_trigger_tool_change", nil, ""); err != nil {
		return nil, err
	}
	_, err := receive(ctx, w.changed, 1)
	return nil, err
}

func receive[T any](ctx context.Context, from <-chan T, count int) ([]T, error) {
	var seen []T
	for len(seen) < count {
		select {
		case one := <-from:
			seen = append(seen, one)
		case <-ctx.Done():
			return seen, fmt.Errorf("%d of %d came: %v", len(seen), count, seen)
		}
	}
	return seen, nil
}

func (w *walk) cancel(ctx context.Context) (any, error) {
	slow, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		params := &mcp.CallToolParams{Name: "test_slow", Arguments: map[string]any{"seconds": 60}}
		result, err := w.session.CallTool(slow, params)
		if !errors.Is(err, context.Canceled) {
			ended <- errors.Join(otherwise(result), err)
			return
		}
		ended <- nil
	}()
	if err := w.running(ctx, 1); err != nil {
		return nil, err
	}
	stop()
	if err := <-ended; err != nil {
		return nil, err
	}
	// The server is told, and stops.
	return nil, w.running(ctx, 0)
}

// Asks until that many slow calls run.
func (w *walk) running(ctx context.Context, count int) error {
	wanted := fmt.Sprintf("slow calls: %d", count)
	for {
		params := &mcp.CallToolParams{Name: "test_slow_running"}
		result, err := w.session.CallTool(ctx, params)
		if err != nil {
			return err
		}
		if text, ok := result.Content[0].(*mcp.TextContent); ok && text.Text == wanted {
			return nil
		}
	}
}

func (w *walk) ping(ctx context.Context) (any, error) {
	if w.modern {
		return nil, unable("2026-07-28 has no ping")
	}
	return nil, w.session.Ping(ctx, nil)
}
