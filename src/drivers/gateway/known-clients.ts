// The list of external agents that the gateway knows. Pure. Tests: test/tables/drivers/gateway/clients.test.ts,
// test/tables/drivers/gateway/logins.test.ts.
import { claude } from './clients/claude.ts'
import { codex, codexAcp } from './clients/codex.ts'
import { gemini } from './clients/gemini.ts'
import { opencode } from './clients/opencode.ts'
import { pi } from './clients/pi.ts'
import type { ClientAdapter } from './clients/client.ts'

export const KNOWN_CLIENTS: readonly ClientAdapter[] = [claude, codex, codexAcp, gemini, opencode, pi]
