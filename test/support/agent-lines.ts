// What real agents wrote, line by line, when a model server on the same machine answered them: Claude Code 2.1.328, Codex
// 0.169.0, Gemini CLI 0.61.0, OpenCode 1.18.33. Times, ids of events and lists of features are left out.

/** A turn with two calls at once, both of which fail. */
export const CLAUDE_TOOLS: readonly object[] = [
  {"type": "system", "subtype": "init", "session_id": "6528ff20-b72b-4b73-ac46-b42cd138b7d7", "mcp_servers": [], "model": "claude-opus-5-5", "permissionMode": "default", "apiKeySource": "ANTHROPIC_API_KEY", "claude_code_version": "2.1.328", "output_style": "default", "ultrathink_available": false, "ultrathink_typed_raises": false, "view_mode": "default"},
  {"type": "assistant", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "served", "content": [{"type": "text", "text": "I will run it."}], "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1000, "cache_read_input_tokens": 300, "cache_creation_input_tokens": 20, "output_tokens": 1}}, "parent_tool_use_id": null, "session_id": "6528ff20-b72b-4b73-ac46-b42cd138b7d7"},
  {"type": "assistant", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "served", "content": [{"type": "tool_use", "id": "toolu_0", "name": "Bash", "input": {"command": "echo hello $RANDOM_X; exit 3", "description": "say hello"}}], "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1000, "cache_read_input_tokens": 300, "cache_creation_input_tokens": 20, "output_tokens": 1}}, "parent_tool_use_id": null, "session_id": "6528ff20-b72b-4b73-ac46-b42cd138b7d7"},
  {"type": "assistant", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "served", "content": [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "echo hello $RANDOM_X; exit 3", "description": "say hello"}}], "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1000, "cache_read_input_tokens": 300, "cache_creation_input_tokens": 20, "output_tokens": 1}}, "parent_tool_use_id": null, "session_id": "6528ff20-b72b-4b73-ac46-b42cd138b7d7"},
  {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": "Exit code 3\nhello", "is_error": true, "tool_use_id": "toolu_0"}]}, "parent_tool_use_id": null, "session_id": "6528ff20-b72b-4b73-ac46-b42cd138b7d7", "tool_use_result": "Error: Exit code 3\nhello", "tool_result_meta": [{"id": "toolu_0", "permission_decision": {"decision": "accept", "source": "config", "reason_type": "rule"}}]},
  {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": "Exit code 3\nhello", "is_error": true, "tool_use_id": "toolu_1"}]}, "parent_tool_use_id": null, "session_id": "6528ff20-b72b-4b73-ac46-b42cd138b7d7", "tool_use_result": "Error: Exit code 3\nhello", "tool_result_meta": [{"id": "toolu_1", "permission_decision": {"decision": "accept", "source": "config", "reason_type": "rule"}}]},
  {"type": "assistant", "message": {"id": "msg_2", "type": "message", "role": "assistant", "model": "served", "content": [{"type": "text", "text": "It is done."}], "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1000, "cache_read_input_tokens": 300, "cache_creation_input_tokens": 20, "output_tokens": 1}}, "parent_tool_use_id": null, "session_id": "6528ff20-b72b-4b73-ac46-b42cd138b7d7"},
  {"duration_api_ms": 145, "stop_reason": "end_turn", "session_id": "6528ff20-b72b-4b73-ac46-b42cd138b7d7", "total_cost_usd": 0.010320000000000001, "usage": {"input_tokens": 2000, "cache_creation_input_tokens": 40, "cache_read_input_tokens": 600, "output_tokens": 100}, "modelUsage": {"claude-opus-5-5": {"inputTokens": 2000, "outputTokens": 100, "cacheReadInputTokens": 600, "cacheCreationInputTokens": 40, "webSearchRequests": 0, "costUSD": 0.010320000000000001, "contextWindow": 1000000, "maxOutputTokens": 128000, "thinkingTokens": 0, "cacheCreationEphemeral5mInputTokens": 0, "cacheCreationEphemeral1hInputTokens": 0, "canonicalModel": "claude-opus-5-5", "provider": "firstParty", "costBasis": "list"}}, "permission_denials": [], "terminal_reason": "completed", "safety_stops": 0, "is_error": false, "num_turns": 3, "subtype": "success", "api_error_status": null, "result": "It is done.", "type": "result", "duration_ms": 399, "queued_turn_count": 0, "result_index": 0, "model_usage_since_last_result": {"claude-opus-5-5": {"inputTokens": 2000, "outputTokens": 100, "cacheReadInputTokens": 600, "cacheCreationInputTokens": 40, "webSearchRequests": 0, "costUSD": 0.010320000000000001, "contextWindow": 1000000, "maxOutputTokens": 128000, "thinkingTokens": 0, "cacheCreationEphemeral5mInputTokens": 0, "cacheCreationEphemeral1hInputTokens": 0, "canonicalModel": "claude-opus-5-5", "provider": "firstParty", "costBasis": "list"}}},
]

/** The same session, resumed. */
export const CLAUDE_RESUMED: readonly object[] = [
  {"type": "system", "subtype": "init", "session_id": "6528ff20-b72b-4b73-ac46-b42cd138b7d7", "mcp_servers": [], "model": "claude-opus-5-5", "permissionMode": "default", "apiKeySource": "ANTHROPIC_API_KEY", "claude_code_version": "2.1.328", "output_style": "default", "ultrathink_available": false, "ultrathink_typed_raises": false, "view_mode": "default"},
  {"type": "assistant", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "served", "content": [{"type": "text", "text": "It is done."}], "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1000, "cache_read_input_tokens": 300, "cache_creation_input_tokens": 20, "output_tokens": 1}}, "parent_tool_use_id": null, "session_id": "6528ff20-b72b-4b73-ac46-b42cd138b7d7"},
  {"duration_api_ms": 181, "stop_reason": "end_turn", "session_id": "6528ff20-b72b-4b73-ac46-b42cd138b7d7", "total_cost_usd": 0.01548, "usage": {"input_tokens": 1000, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300, "output_tokens": 50}, "modelUsage": {"claude-opus-5-5": {"inputTokens": 3000, "outputTokens": 150, "thinkingTokens": 0, "cacheReadInputTokens": 900, "cacheCreationInputTokens": 60, "cacheCreationEphemeral5mInputTokens": 0, "cacheCreationEphemeral1hInputTokens": 0, "webSearchRequests": 0, "costUSD": 0.01548, "contextWindow": 1000000, "maxOutputTokens": 128000, "canonicalModel": "claude-opus-5-5", "provider": "firstParty", "costBasis": "list"}}, "permission_denials": [], "terminal_reason": "completed", "safety_stops": 0, "is_error": false, "num_turns": 1, "subtype": "success", "api_error_status": null, "result": "It is done.", "type": "result", "duration_ms": 211, "queued_turn_count": 0, "result_index": 0, "model_usage_since_last_result": {"claude-opus-5-5": {"inputTokens": 1000, "outputTokens": 50, "cacheReadInputTokens": 300, "cacheCreationInputTokens": 20, "webSearchRequests": 0, "costUSD": 0.0051600000000000005, "contextWindow": 1000000, "maxOutputTokens": 128000, "thinkingTokens": 0, "cacheCreationEphemeral5mInputTokens": 0, "cacheCreationEphemeral1hInputTokens": 0, "canonicalModel": "claude-opus-5-5", "provider": "firstParty", "costBasis": "list"}}},
]

/** A fork of it: it begins with the cost of its origin. */
export const CLAUDE_FORKED: readonly object[] = [
  {"type": "system", "subtype": "init", "session_id": "926592e8-edd5-429a-af35-2cdc32fc6989", "mcp_servers": [], "model": "claude-opus-5-5", "permissionMode": "default", "apiKeySource": "ANTHROPIC_API_KEY", "claude_code_version": "2.1.328", "output_style": "default", "ultrathink_available": false, "ultrathink_typed_raises": false, "view_mode": "default"},
  {"type": "assistant", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "served", "content": [{"type": "text", "text": "It is done."}], "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1000, "cache_read_input_tokens": 300, "cache_creation_input_tokens": 20, "output_tokens": 1}}, "parent_tool_use_id": null, "session_id": "926592e8-edd5-429a-af35-2cdc32fc6989"},
  {"duration_api_ms": 218, "stop_reason": "end_turn", "session_id": "926592e8-edd5-429a-af35-2cdc32fc6989", "total_cost_usd": 0.020640000000000002, "usage": {"input_tokens": 1000, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300, "output_tokens": 50}, "modelUsage": {"claude-opus-5-5": {"inputTokens": 4000, "outputTokens": 200, "thinkingTokens": 0, "cacheReadInputTokens": 1200, "cacheCreationInputTokens": 80, "cacheCreationEphemeral5mInputTokens": 0, "cacheCreationEphemeral1hInputTokens": 0, "webSearchRequests": 0, "costUSD": 0.020640000000000002, "contextWindow": 1000000, "maxOutputTokens": 128000, "canonicalModel": "claude-opus-5-5", "provider": "firstParty", "costBasis": "list"}}, "permission_denials": [], "terminal_reason": "completed", "safety_stops": 0, "is_error": false, "num_turns": 1, "subtype": "success", "api_error_status": null, "result": "It is done.", "type": "result", "duration_ms": 229, "queued_turn_count": 0, "result_index": 0, "model_usage_since_last_result": {"claude-opus-5-5": {"inputTokens": 1000, "outputTokens": 50, "cacheReadInputTokens": 300, "cacheCreationInputTokens": 20, "webSearchRequests": 0, "costUSD": 0.0051600000000000005, "contextWindow": 1000000, "maxOutputTokens": 128000, "thinkingTokens": 0, "cacheCreationEphemeral5mInputTokens": 0, "cacheCreationEphemeral1hInputTokens": 0, "canonicalModel": "claude-opus-5-5", "provider": "firstParty", "costBasis": "list"}}},
]

/** A call that nobody allowed. */
export const CLAUDE_DENIED: readonly object[] = [
  {"type": "system", "subtype": "init", "session_id": "b0ab4c00-143f-4f80-a68f-3af13496db67", "mcp_servers": [], "model": "claude-opus-5-5", "permissionMode": "default", "apiKeySource": "ANTHROPIC_API_KEY", "claude_code_version": "2.1.328", "output_style": "default", "ultrathink_available": false, "ultrathink_typed_raises": false, "view_mode": "default"},
  {"type": "assistant", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "served", "content": [{"type": "text", "text": "I will run it."}], "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1000, "cache_read_input_tokens": 300, "cache_creation_input_tokens": 20, "output_tokens": 1}}, "parent_tool_use_id": null, "session_id": "b0ab4c00-143f-4f80-a68f-3af13496db67"},
  {"type": "assistant", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "served", "content": [{"type": "tool_use", "id": "toolu_0", "name": "Bash", "input": {"command": "echo hello $RANDOM_X; exit 3", "description": "say hello"}}], "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1000, "cache_read_input_tokens": 300, "cache_creation_input_tokens": 20, "output_tokens": 1}}, "parent_tool_use_id": null, "session_id": "b0ab4c00-143f-4f80-a68f-3af13496db67"},
  {"type": "system", "subtype": "permission_denied", "tool_name": "Bash", "tool_use_id": "toolu_0", "decision_reason_type": "other", "decision_reason": "A variable in this command can't be checked before it runs", "message": "A variable in this command can't be checked before it runs", "session_id": "b0ab4c00-143f-4f80-a68f-3af13496db67"},
  {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": "A variable in this command can't be checked before it runs", "is_error": true, "tool_use_id": "toolu_0"}]}, "parent_tool_use_id": null, "session_id": "b0ab4c00-143f-4f80-a68f-3af13496db67", "tool_use_result": "Error: A variable in this command can't be checked before it runs", "tool_result_meta": [{"id": "toolu_0", "non_execution_kind": "user-rejected", "permission_decision": {"decision": "reject", "source": "config"}}]},
  {"type": "assistant", "message": {"id": "msg_2", "type": "message", "role": "assistant", "model": "served", "content": [{"type": "text", "text": "It is done."}], "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1000, "cache_read_input_tokens": 300, "cache_creation_input_tokens": 20, "output_tokens": 1}}, "parent_tool_use_id": null, "session_id": "b0ab4c00-143f-4f80-a68f-3af13496db67"},
  {"duration_api_ms": 99, "stop_reason": "end_turn", "session_id": "b0ab4c00-143f-4f80-a68f-3af13496db67", "total_cost_usd": 0.010320000000000001, "usage": {"input_tokens": 2000, "cache_creation_input_tokens": 40, "cache_read_input_tokens": 600, "output_tokens": 100}, "modelUsage": {"claude-opus-5-5": {"inputTokens": 2000, "outputTokens": 100, "cacheReadInputTokens": 600, "cacheCreationInputTokens": 40, "webSearchRequests": 0, "costUSD": 0.010320000000000001, "contextWindow": 1000000, "maxOutputTokens": 128000, "thinkingTokens": 0, "cacheCreationEphemeral5mInputTokens": 0, "cacheCreationEphemeral1hInputTokens": 0, "canonicalModel": "claude-opus-5-5", "provider": "firstParty", "costBasis": "list"}}, "permission_denials": [{"tool_name": "Bash", "tool_use_id": "toolu_0", "tool_input": {"command": "echo hello $RANDOM_X; exit 3", "description": "say hello"}}], "terminal_reason": "completed", "safety_stops": 0, "is_error": false, "num_turns": 2, "subtype": "success", "api_error_status": null, "result": "It is done.", "type": "result", "duration_ms": 314, "queued_turn_count": 0, "result_index": 0, "model_usage_since_last_result": {"claude-opus-5-5": {"inputTokens": 2000, "outputTokens": 100, "cacheReadInputTokens": 600, "cacheCreationInputTokens": 40, "webSearchRequests": 0, "costUSD": 0.010320000000000001, "contextWindow": 1000000, "maxOutputTokens": 128000, "thinkingTokens": 0, "cacheCreationEphemeral5mInputTokens": 0, "cacheCreationEphemeral1hInputTokens": 0, "canonicalModel": "claude-opus-5-5", "provider": "firstParty", "costBasis": "list"}}},
]

/** Nobody is logged in: `success`, exit code 1. */
export const CLAUDE_NOT_LOGGED_IN: readonly object[] = [
  {"type": "system", "subtype": "init", "session_id": "6ac57700-a8f9-44d9-b10e-bdaa7fa03040", "mcp_servers": [], "model": "claude-opus-5-5", "permissionMode": "default", "apiKeySource": "none", "claude_code_version": "2.1.328", "output_style": "default", "ultrathink_available": false, "ultrathink_typed_raises": false, "view_mode": "default"},
  {"type": "assistant", "message": {"id": "287c1069-7b99-47d0-97d0-d1b9738b837e", "model": "<synthetic>", "role": "assistant", "stop_reason": "stop_sequence", "stop_sequence": "", "type": "message", "usage": {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}, "content": [{"type": "text", "text": "Not logged in · Please run /login"}]}, "parent_tool_use_id": null, "session_id": "6ac57700-a8f9-44d9-b10e-bdaa7fa03040", "error": "authentication_failed", "is_api_error_message": true},
  {"duration_api_ms": 0, "stop_reason": "stop_sequence", "session_id": "6ac57700-a8f9-44d9-b10e-bdaa7fa03040", "total_cost_usd": 0, "usage": {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}, "modelUsage": {}, "permission_denials": [], "terminal_reason": "api_error", "safety_stops": 0, "is_error": true, "num_turns": 1, "subtype": "success", "api_error_status": null, "result": "Not logged in · Please run /login", "type": "result", "duration_ms": 699, "queued_turn_count": 0, "result_index": 0, "model_usage_since_last_result": {}},
]

/** The provider refuses the request. */
export const CLAUDE_REFUSED: readonly object[] = [
  {"type": "system", "subtype": "init", "session_id": "0ef11c70-aaed-4029-bcaf-137b8e6d0afc", "mcp_servers": [], "model": "claude-opus-5-5", "permissionMode": "default", "apiKeySource": "ANTHROPIC_API_KEY", "claude_code_version": "2.1.328", "output_style": "default", "ultrathink_available": false, "ultrathink_typed_raises": false, "view_mode": "default"},
  {"type": "assistant", "message": {"id": "fb846d0e-2f6f-4b7a-8958-a3c3c25ebf9a", "model": "<synthetic>", "role": "assistant", "stop_reason": "stop_sequence", "stop_sequence": "", "type": "message", "usage": {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}, "content": [{"type": "text", "text": "API Error: 400 bad thing"}]}, "parent_tool_use_id": null, "session_id": "0ef11c70-aaed-4029-bcaf-137b8e6d0afc", "error": "unknown", "is_api_error_message": true, "api_error_status": 400, "api_error_type": "invalid_request_error"},
  {"duration_api_ms": 0, "stop_reason": "stop_sequence", "session_id": "0ef11c70-aaed-4029-bcaf-137b8e6d0afc", "total_cost_usd": 0, "usage": {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}, "modelUsage": {}, "permission_denials": [], "terminal_reason": "api_error", "safety_stops": 0, "is_error": true, "num_turns": 1, "subtype": "success", "api_error_status": 400, "api_error_type": "invalid_request_error", "result": "API Error: 400 bad thing", "type": "result", "duration_ms": 620, "queued_turn_count": 0, "result_index": 0, "model_usage_since_last_result": {}},
]

/** A session that is not there. */
export const CLAUDE_NO_SESSION: readonly object[] = [
  {"type": "result", "subtype": "error_during_execution", "duration_ms": 0, "duration_api_ms": 0, "is_error": true, "num_turns": 0, "stop_reason": null, "session_id": "6528ff20-b72b-4b73-ac46-b42cd138b7d8", "total_cost_usd": 0, "usage": {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}, "modelUsage": {}, "permission_denials": [], "errors": ["No conversation found with session ID: 6528ff20-b72b-4b73-ac46-b42cd138b7d8"], "result_index": 0},
]

/** A turn with a command. */
export const CODEX_TOOLS: readonly object[] = [
  {"type": "thread.started", "thread_id": "01a1f964-3c13-7d42-a935-af7e68a221bf"},
  {"type": "turn.started"},
  {"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "I will run it."}},
  {"type": "item.started", "item": {"id": "item_1", "type": "command_execution", "command": "/bin/bash -lc 'echo hello'", "aggregated_output": "", "exit_code": null, "status": "in_progress"}},
  {"type": "item.completed", "item": {"id": "item_1", "type": "command_execution", "command": "/bin/bash -lc 'echo hello'", "aggregated_output": "hello\n", "exit_code": 0, "status": "completed"}},
  {"type": "item.completed", "item": {"id": "item_2", "type": "agent_message", "text": "It is done."}},
  {"type": "turn.completed", "usage": {"input_tokens": 2640, "cached_input_tokens": 600, "cache_write_input_tokens": 40, "output_tokens": 100, "reasoning_output_tokens": 0}},
]

/** A thread of two calls, resumed: its usage counts all three. */
export const CODEX_RESUMED: readonly object[] = [
  {"type": "thread.started", "thread_id": "01a1f964-3c13-7d42-a935-af7e68a221bf"},
  {"type": "turn.started"},
  {"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "It is done."}},
  {"type": "turn.completed", "usage": {"input_tokens": 3960, "cached_input_tokens": 900, "cache_write_input_tokens": 60, "output_tokens": 150, "reasoning_output_tokens": 0}},
]

/** The provider refuses the request. */
export const CODEX_REFUSED: readonly object[] = [
  {"type": "thread.started", "thread_id": "01a1f964-40dc-7ea3-b2dc-53320b93a359"},
  {"type": "turn.started"},
  {"type": "error", "message": "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"bad thing\",\"param\":null,\"code\":\"invalid_request_error\"}}"},
  {"type": "turn.failed", "error": {"message": "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"bad thing\",\"param\":null,\"code\":\"invalid_request_error\"}}"}},
]

/** A turn with a command. */
export const GEMINI_TOOLS: readonly object[] = [
  {"type": "init", "session_id": "0d54fada-9462-45db-8120-26d54ff7f768", "model": "gemini-2.5-pro"},
  {"type": "message", "role": "user", "content": "please USETOOL"},
  {"type": "message", "role": "assistant", "content": "I will ", "delta": true},
  {"type": "message", "role": "assistant", "content": "run it.", "delta": true},
  {"type": "tool_use", "tool_name": "run_shell_command", "tool_id": "run_shell_command__run_shell_command_1795185258356_0", "parameters": {"command": "echo hello"}},
  {"type": "tool_result", "tool_id": "run_shell_command__run_shell_command_1795185258356_0", "status": "success", "output": "hello"},
  {"type": "message", "role": "assistant", "content": "It is ", "delta": true},
  {"type": "message", "role": "assistant", "content": "done.", "delta": true},
  {"type": "result", "status": "success", "stats": {"total_tokens": 2740, "input_tokens": 2640, "output_tokens": 100, "cached": 600, "input": 2040, "duration_ms": 462, "tool_calls": 1, "models": {"served": {"total_tokens": 2740, "input_tokens": 2640, "output_tokens": 100, "cached": 600, "input": 2040}}}},
]

/** The provider refuses the request: exit code 144. */
export const GEMINI_REFUSED: readonly object[] = [
  {"type": "init", "session_id": "a5cff908-a0dc-443c-a563-3447e4aba630", "model": "gemini-2.5-pro"},
  {"type": "message", "role": "user", "content": "FAIL400"},
  {"type": "result", "status": "error", "error": {"type": "unknown", "message": "[API Error: {\"error\":{\"code\":400,\"message\":\"bad thing\",\"status\":\"invalid_request_error\"}}]"}, "stats": {"total_tokens": 0, "input_tokens": 0, "output_tokens": 0, "cached": 0, "input": 0, "duration_ms": 0, "tool_calls": 0, "models": {"gemini-2.5-pro": {"total_tokens": 0, "input_tokens": 0, "output_tokens": 0, "cached": 0, "input": 0}}}},
]

/** A turn with a command. */
export const OPENCODE_TOOLS: readonly object[] = [
  {"type": "step_start", "sessionID": "ses_e069eb772ffexA5zCsJ2QHDTUf", "part": {"id": "prt_1f9616cd5001DyGwYOc9CaBGuW", "messageID": "msg_1f9615889001AliKaF8U0bzpbs", "sessionID": "ses_e069eb772ffexA5zCsJ2QHDTUf", "type": "step-start"}},
  {"type": "text", "sessionID": "ses_e069eb772ffexA5zCsJ2QHDTUf", "part": {"id": "prt_1f9616cdb001t4EuzaHcpmF5UV", "messageID": "msg_1f9615889001AliKaF8U0bzpbs", "sessionID": "ses_e069eb772ffexA5zCsJ2QHDTUf", "type": "text", "text": "I will run it.", "time": {"start": 1795185274075, "end": 1795185274119}}},
  {"type": "tool_use", "sessionID": "ses_e069eb772ffexA5zCsJ2QHDTUf", "part": {"type": "tool", "tool": "bash", "callID": "call_0", "state": {"status": "completed", "input": {"command": "echo hello", "description": "say hello"}, "output": "hello\n", "title": "echo hello", "time": {"start": 1795185274097, "end": 1795185274424}}, "id": "prt_1f9616ce2001kN7JLMpWU56x4y", "sessionID": "ses_e069eb772ffexA5zCsJ2QHDTUf", "messageID": "msg_1f9615889001AliKaF8U0bzpbs"}},
  {"type": "step_finish", "sessionID": "ses_e069eb772ffexA5zCsJ2QHDTUf", "part": {"id": "prt_1f9616e66001j8yzARWaAyDYK6", "reason": "tool-calls", "messageID": "msg_1f9615889001AliKaF8U0bzpbs", "sessionID": "ses_e069eb772ffexA5zCsJ2QHDTUf", "type": "step-finish", "tokens": {"total": 1370, "input": 1020, "output": 50, "reasoning": 0, "cache": {"write": 0, "read": 300}}, "cost": 0}},
  {"type": "step_start", "sessionID": "ses_e069eb772ffexA5zCsJ2QHDTUf", "part": {"id": "prt_1f9616f67001YM0lAPHpMUTdmj", "messageID": "msg_1f9616eb6001OjmYA1E0lstovz", "sessionID": "ses_e069eb772ffexA5zCsJ2QHDTUf", "type": "step-start"}},
  {"type": "text", "sessionID": "ses_e069eb772ffexA5zCsJ2QHDTUf", "part": {"id": "prt_1f9616f6d001sD5RHZy7VgCe0S", "messageID": "msg_1f9616eb6001OjmYA1E0lstovz", "sessionID": "ses_e069eb772ffexA5zCsJ2QHDTUf", "type": "text", "text": "It is done.", "time": {"start": 1795185274733, "end": 1795185274745}}},
  {"type": "step_finish", "sessionID": "ses_e069eb772ffexA5zCsJ2QHDTUf", "part": {"id": "prt_1f9616f84001uWV0uT5IOETOyh", "reason": "stop", "messageID": "msg_1f9616eb6001OjmYA1E0lstovz", "sessionID": "ses_e069eb772ffexA5zCsJ2QHDTUf", "type": "step-finish", "tokens": {"total": 1370, "input": 1020, "output": 50, "reasoning": 0, "cache": {"write": 0, "read": 300}}, "cost": 0}},
]

/** The provider refuses the request. */
export const OPENCODE_REFUSED: readonly object[] = [
  {"type": "error", "sessionID": "ses_e06922a0affegrNXHCII3roN0U", "error": {"name": "APIError", "data": {"message": "bad thing", "statusCode": 400, "isRetryable": false}}},
]
