// A crew worker that answers once and exits, in place of `claude -p`: `crew-worker.ts [OPTION…] -- PROMPT`. The program prints lines in the
// format of Claude Code, and finds reeve's tools in the file of --mcp-config. The text of a task is `Write FILE with WORD.`. If HOME has a
// file `hang-ID`, the first attempt at the task ID hangs.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

type Input = Readonly<Record<string, unknown>>

const args = process.argv.slice(2)
const resumeIndex = args.indexOf('--resume')
const sessionId = resumeIndex < 0 ? randomUUID() : args[resumeIndex + 1]
const print = (line: object): void => {
  process.stdout.write(`${JSON.stringify({ ...line, session_id: sessionId })}\n`)
}
let answerCount = 0

function printAnswer(...content: object[]): void {
  const usage = { input_tokens: 100, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 7 }
  print({
    type: 'assistant',
    message: { id: `msg_${(answerCount += 1)}`, type: 'message', role: 'assistant', model: 'served', content, usage },
    parent_tool_use_id: null,
  })
}

function runGit(...words: string[]): void {
  execFileSync('git', words, { stdio: 'ignore' })
}

async function callTool(name: string, input: Input = {}): Promise<void> {
  const id = `toolu_${process.pid}_${answerCount}`
  printAnswer({ type: 'tool_use', id, name: `mcp__reeve__${name}`, input })
  const file = args.find((arg) => arg.startsWith('--mcp-config='))?.slice('--mcp-config='.length) ?? ''
  const {
    mcpServers: {
      reeve: { url, headers },
    },
  } = JSON.parse(readFileSync(file, 'utf8')) as { mcpServers: { reeve: { url: string; headers: Record<string, string> } } }
  const client = new Client({ name: 'crew-worker', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  const { isError = false, content } = await client.callTool({ name, arguments: input })
  await client.close()
  print({
    type: 'user',
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, is_error: isError, content }] },
    parent_tool_use_id: null,
  })
}

async function hangOnce(task: string): Promise<void> {
  const hangFile = join(process.env['HOME'] ?? '', `hang-${task}`)
  if (!existsSync(hangFile)) return
  renameSync(hangFile, `${hangFile}.now`)
  await new Promise(() => setInterval(() => undefined, 60_000))
}

async function work(prompt: string): Promise<void> {
  const task = /^Task (?<id>[\w.-]+)[^]*?Write (?<file>\S+) with (?<word>\w+)/m.exec(prompt)?.groups
  if (task) {
    await hangOnce(task['id'] ?? '')
    writeFileSync(task['file'] ?? '', `${task['word']}.\n`)
    return callTool('report_implementation_complete', { summary: `wrote ${task['file']}` })
  }
  if (/^Review /m.test(prompt)) return callTool('report_review_verdict', { verdict: 'APPROVED', comments: 'it is right' })
  const commit = /^(?<id>[\w.-]+)[^]*? is (approved: commit it|not committed yet)/m.exec(prompt)?.groups
  if (commit) {
    runGit('add', '-A')
    runGit('commit', '-q', '-m', `${commit['id']}: it is written`)
  }
  return callTool('signal_ready')
}

print({ type: 'system', subtype: 'init', model: 'served', mcp_servers: [] })
await work(args.at(-1) ?? '')
printAnswer({ type: 'text', text: 'It is done.' })
const usage = {
  served: {
    inputTokens: answerCount * 100,
    outputTokens: answerCount * 7,
    cacheReadInputTokens: 0,
    cacheCreationInputTokens: 0,
    costUSD: answerCount * 0.001,
    contextWindow: 1_000_000,
  },
}
print({
  type: 'result',
  subtype: 'success',
  is_error: false,
  result: 'It is done.',
  total_cost_usd: 0,
  modelUsage: usage,
  model_usage_since_last_result: usage,
})
