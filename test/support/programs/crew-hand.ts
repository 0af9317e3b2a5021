// A worker of a crew as a program that answers once and ends: `crew-hand.ts [OPTION…] -- PROMPT` with the options of `claude -p`.
// The program prints the lines of Claude Code, and gets reeve's tools from the file of --mcp-config, as Claude Code does. The tasks
// are `Write FILE with WORD.`, as for the scripts of test/support/crew-scripts. A file `hang-ID` in HOME stops
// its work on that task, once.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

type Input = Readonly<Record<string, unknown>>

const args = process.argv.slice(2)
const resumed = args.indexOf('--resume')
const sessionId = resumed < 0 ? randomUUID() : args[resumed + 1]
const print = (line: object): void => {
  process.stdout.write(`${JSON.stringify({ ...line, session_id: sessionId })}\n`)
}
let count = 0

function answer(...content: object[]): void {
  const usage = { input_tokens: 100, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 7 }
  print({
    type: 'assistant',
    message: { id: `msg_${(count += 1)}`, type: 'message', role: 'assistant', model: 'served', content, usage },
    parent_tool_use_id: null,
  })
}

function git(...words: string[]): void {
  execFileSync('git', words, { stdio: 'ignore' })
}

async function call(name: string, input: Input = {}): Promise<void> {
  const id = `toolu_${process.pid}_${count}`
  answer({ type: 'tool_use', id, name: `mcp__reeve__${name}`, input })
  const file = args.find((arg) => arg.startsWith('--mcp-config='))?.slice('--mcp-config='.length) ?? ''
  const {
    mcpServers: {
      reeve: { url, headers },
    },
  } = JSON.parse(readFileSync(file, 'utf8')) as { mcpServers: { reeve: { url: string; headers: Record<string, string> } } }
  const client = new Client({ name: 'crew-hand', version: '1' })
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
  const mark = join(process.env['HOME'] ?? '', `hang-${task}`)
  if (!existsSync(mark)) return
  renameSync(mark, `${mark}.now`)
  await new Promise(() => setInterval(() => undefined, 60_000))
}

async function work(prompt: string): Promise<void> {
  const task = /^Task (?<id>[\w.-]+)[^]*?Write (?<file>\S+) with (?<word>\w+)/m.exec(prompt)?.groups
  if (task) {
    await hangOnce(task['id'] ?? '')
    writeFileSync(task['file'] ?? '', `${task['word']}.\n`)
    return call('report_implementation_complete', { summary: `wrote ${task['file']}` })
  }
  if (/^Review /m.test(prompt)) return call('report_review_verdict', { verdict: 'APPROVED', comments: 'it is right' })
  const commit = /^(?<id>[\w.-]+)[^]*? is (approved: commit it|not committed yet)/m.exec(prompt)?.groups
  if (commit) {
    git('add', '-A')
    git('commit', '-q', '-m', `${commit['id']}: it is written`)
  }
  return call('signal_ready')
}

print({ type: 'system', subtype: 'init', model: 'served', mcp_servers: [] })
await work(args.at(-1) ?? '')
answer({ type: 'text', text: 'It is done.' })
const used = {
  served: {
    inputTokens: count * 100,
    outputTokens: count * 7,
    cacheReadInputTokens: 0,
    cacheCreationInputTokens: 0,
    costUSD: count * 0.001,
    contextWindow: 1_000_000,
  },
}
print({
  type: 'result',
  subtype: 'success',
  is_error: false,
  result: 'It is done.',
  total_cost_usd: 0,
  modelUsage: used,
  model_usage_since_last_result: used,
})
