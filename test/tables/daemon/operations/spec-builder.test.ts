// The specs of all drivers as they are written: their fields, in order, are a format on disk. A spec of another version
// may have fields that its driver does not have now; it is read nonetheless.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ResumeBody, SpawnBody } from '../../../../src/api/views/process.ts'
import { pathsFrom } from '../../../../src/config/paths.ts'
import { specProblem } from '../../../../src/daemon/archive/spec-shape.ts'
import { Settings } from '../../../../src/daemon/host/settings.ts'
import { SpecBuilder, type SpecBuilderDeps } from '../../../../src/daemon/operations/spec-builder.ts'
import type { ProcessSpec } from '../../../../src/kernel/model/process-spec.ts'
import type { Permissions } from '../../../../src/kernel/model/spec-parts.ts'
import { CREW_SPEC } from '../../../support/kernel/transcript-crew-inputs.ts'
import { kernelSpec } from '../../../support/kernel/world.ts'
import { openTestStore } from '../../../support/store/test-store.ts'
import { CommitMaker, uuidOf } from '../../../support/store/facts.ts'
import { tempDir, type TempDir } from '../../../support/tmp.ts'

const AGENTS = {
  native: `
description: a native agent
model: anthropic/claude-sonnet-5
fallback: [openai/gpt-6]
effort: high
tools: [read, bash]
deny: [write]
mcp: { local: { command: ./server } }
limits: { maxSteps: 9 }
liveness: { silent: 5m }
wake: true
reeve: true
restart: on-failure`,
  acp: `
driver: acp
command: [sh, acp]
model: big
permissions: { default: allow, tools: { execute: ask } }
mode: plan
asks: true
gateway: on
grace: 2s
keep_raw: all
mcp: { local: { command: ./server } }
deny: [bash]
limits: { timeout: 1h }
wake: true`,
  jsonLines: `
driver: command
command: [sh, -p]
format: claude
gateway: off
keep_raw: last
reeve: true`,
  plain: `
driver: command
command: [sh, -c]
grace: 1s
keep_raw: all
limits: { timeout: 1m }`,
}

let dir: TempDir
let specs: SpecBuilder

beforeEach(async () => {
  dir = await tempDir()
  await mkdir(join(dir.path, 'agents'))
  for (const [name, front] of Object.entries(AGENTS))
    await writeFile(join(dir.path, 'agents', `${name}.md`), `---${front}\n---\nYou are ${name}.`)
  const paths = pathsFrom({ REEVE_HOME: dir.path })
  const settings = await Settings.read(paths)
  const containments = { plan: () => null, checkOffline: async () => {}, checkSocketMount: async () => {} }
  specs = new SpecBuilder({ paths, settings, containments, reads: {} } as unknown as SpecBuilderDeps)
})

afterEach(() => dir[Symbol.asyncDispose]())

const ENV = { PATH: '/usr/bin:/bin', HOME: '/nowhere', LANG: 'C' }

type Spawn = Omit<SpawnBody, 'cwd'>

async function buildSpec(body: Spawn): Promise<ProcessSpec> {
  const intent = body.agent === undefined ? {} : { intent: 'work' }
  return (await specs.build({ cwd: dir.path, env: ENV, ...intent, ...body } as SpawnBody)).spec
}

const textOf = (spec: ProcessSpec): string => JSON.stringify(spec).replaceAll(dir.path, '/dir')

const NATIVE_SPAWN: Spawn = { agent: 'native', name: 'one', allow: ['read', 'read:/tmp'], limits: { budgetUsd: 1 }, childId: 'a' }
const SCRIPT_SPAWN: Spawn = { agent: 'native', model: 'script:a.yaml', reeve: false, restart: 'always' }
const ACP_SPAWN: Spawn = { agent: 'acp', permissions: 'deny', interactive: true, allow: ['network'] }
const JSON_LINES_SPAWN: Spawn = { agent: 'jsonLines', gateway: 'on', deny: ['network'] }
const COMMAND_SPAWN: Spawn = { argv: ['make', 'it'], gateway: 'on', limits: { timeoutMs: 9 } }
const SUPERVISOR_SPAWN: Spawn = { supervisor: { strategy: 'rest_for_one', maxRestarts: 2 }, childId: 'c', limits: { maxSteps: 4 } }

const SPAWNS: readonly Spawn[] = [
  NATIVE_SPAWN,
  SCRIPT_SPAWN,
  ACP_SPAWN,
  { agent: 'jsonLines', interactive: true, restart: 'always', childId: 'b' },
  JSON_LINES_SPAWN,
  { agent: 'plain' },
  COMMAND_SPAWN,
  { argv: ['claude', '-p', '--output-format', 'stream-json'] },
  SUPERVISOR_SPAWN,
]

test('the fields of a spec are written in a fixed order for each driver', async () => {
  const lines = []
  for (const body of SPAWNS) lines.push(textOf(await buildSpec(body)))
  expect(lines).toMatchInlineSnapshot(`
    [
      "{"name":"one","cwd":"/dir","env":{"PATH":"/usr/bin:/bin","HOME":"/nowhere","LANG":"C"},"interactive":false,"containment":"auto","intent":"work","agent":"native","driver":"native","model":"anthropic/claude-sonnet-5","effort":"high","fallback":["openai/gpt-6"],"mcp":[{"name":"local","source":"/dir/agents/native.md","kind":"stdio","argv":["./server"],"env":{}}],"tools":["read","mcp__reeve"],"deny":["write"],"capabilities":{"paths":{"read":["/tmp"]}},"system":"You are native.","argv":null,"credentials":["ANTHROPIC_API_KEY"],"limits":{"maxSteps":9,"budgetUsd":1},"liveness":{"silentMs":300000},"wake":true,"restart":{"type":"transient"},"reeve":true,"childId":"a"}",
      "{"name":null,"cwd":"/dir","env":{"PATH":"/usr/bin:/bin","HOME":"/nowhere","LANG":"C"},"interactive":false,"containment":"auto","intent":"work","agent":"native","driver":"native","model":"script:a.yaml","effort":"high","mcp":[{"name":"local","source":"/dir/agents/native.md","kind":"stdio","argv":["./server"],"env":{}}],"tools":["read","bash"],"deny":["write"],"system":"You are native.","argv":null,"credentials":[],"limits":{"maxSteps":9},"liveness":{"silentMs":300000},"wake":true,"restart":{"type":"permanent"}}",
      "{"name":null,"cwd":"/dir","env":{"PATH":"/usr/bin:/bin","HOME":"/nowhere","LANG":"C"},"interactive":true,"containment":"auto","intent":"work","agent":"acp","driver":"acp","model":"big","mcp":[{"name":"local","source":"/dir/agents/acp.md","kind":"stdio","argv":["./server"],"env":{}}],"tools":null,"deny":["bash"],"permissions":{"default":"deny","tools":{"execute":"ask"}},"mode":"plan","asks":true,"graceMs":2000,"system":"You are acp.","argv":["sh","acp"],"wake":true,"keepRaw":"all","gateway":"on","credentials":[],"limits":{"timeoutMs":3600000}}",
      "{"name":null,"cwd":"/dir","env":{"PATH":"/usr/bin:/bin","HOME":"/nowhere","LANG":"C"},"interactive":true,"containment":"auto","intent":"work","agent":"jsonLines","driver":"command","model":null,"system":"You are jsonLines.","tools":null,"deny":[],"argv":["sh","-p"],"format":"claude","graceMs":3000,"keepRaw":"last","gateway":"off","credentials":[],"limits":{},"reeve":true,"restart":{"type":"permanent"},"childId":"b"}",
      "{"name":null,"cwd":"/dir","env":{"PATH":"/usr/bin:/bin","HOME":"/nowhere","LANG":"C"},"interactive":false,"containment":"auto","intent":"work","agent":"jsonLines","driver":"command","model":null,"system":null,"tools":null,"deny":[],"capabilities":{"network":"off"},"argv":["sh","-p","work"],"format":"claude","graceMs":3000,"keepRaw":"last","gateway":"on","credentials":[],"limits":{},"reeve":true}",
      "{"name":null,"cwd":"/dir","env":{"PATH":"/usr/bin:/bin","HOME":"/nowhere","LANG":"C"},"interactive":false,"containment":"auto","intent":"work","agent":"plain","driver":"command","model":null,"system":null,"tools":null,"deny":[],"argv":["sh","-c","work"],"graceMs":1000,"credentials":[],"limits":{"timeoutMs":60000}}",
      "{"name":null,"cwd":"/dir","env":{"PATH":"/usr/bin:/bin","HOME":"/nowhere","LANG":"C"},"interactive":false,"containment":"auto","intent":"make it","agent":"command","driver":"command","model":null,"system":null,"tools":null,"deny":[],"argv":["make","it"],"credentials":[],"limits":{"timeoutMs":9},"gateway":"on"}",
      "{"name":null,"cwd":"/dir","env":{"PATH":"/usr/bin:/bin","HOME":"/nowhere","LANG":"C"},"interactive":false,"containment":"auto","intent":"claude -p --output-format stream-json","agent":"command","driver":"command","model":null,"system":null,"tools":null,"deny":[],"argv":["claude","-p","--output-format","stream-json"],"format":"claude","graceMs":3000,"credentials":[],"limits":{}}",
      "{"name":null,"cwd":"/dir","env":{"PATH":"/usr/bin:/bin","HOME":"/nowhere","LANG":"C"},"interactive":false,"containment":"group","intent":"","agent":"supervisor","driver":"supervisor","model":null,"system":null,"tools":null,"deny":[],"argv":null,"credentials":[],"limits":{"maxSteps":4},"supervisor":{"strategy":"rest_for_one","maxRestarts":2,"windowMs":600000,"backoff":{"initialMs":1000,"maxMs":60000,"factor":2}},"childId":"c"}",
    ]
  `)
})

test('a resume keeps the order of the fields of a spec, and adds new fields at its end', async () => {
  const changes: readonly [Spawn, ResumeBody][] = [
    [NATIVE_SPAWN, { model: 'openai/gpt-6', effort: 'low', name: 'two', allow: ['mcp__reeve', 'write:/tmp'] }],
    [SCRIPT_SPAWN, { cwd: dir.path, deny: ['network'] }],
    [ACP_SPAWN, { model: 'small', gateway: 'off' }],
    [JSON_LINES_SPAWN, { gateway: 'auto', deny: ['signal'] }],
    [COMMAND_SPAWN, { name: 'three' }],
  ]
  const lines = []
  for (const [spawn, body] of changes) {
    const spec = await buildSpec(spawn)
    const changed = await specs.applyOverrides({ uuid: uuidOf(1), spec }, body)
    lines.push(changed && textOf(changed))
  }
  expect(lines).toMatchInlineSnapshot(`
    [
      "{"name":"two","cwd":"/dir","env":{"PATH":"/usr/bin:/bin","HOME":"/nowhere","LANG":"C"},"interactive":false,"containment":"auto","intent":"work","agent":"native","driver":"native","model":"openai/gpt-6","effort":"low","fallback":["openai/gpt-6"],"mcp":[{"name":"local","source":"/dir/agents/native.md","kind":"stdio","argv":["./server"],"env":{}}],"tools":["read","mcp__reeve"],"deny":["write"],"system":"You are native.","argv":null,"credentials":["OPENAI_API_KEY"],"limits":{"maxSteps":9,"budgetUsd":1},"liveness":{"silentMs":300000},"wake":true,"restart":{"type":"transient"},"reeve":true,"childId":"a","capabilities":{"paths":{"read":["/tmp"]}}}",
      "{"name":null,"cwd":"/dir","env":{"PATH":"/usr/bin:/bin","HOME":"/nowhere","LANG":"C"},"interactive":false,"containment":"auto","intent":"work","agent":"native","driver":"native","model":"script:a.yaml","effort":"high","mcp":[{"name":"local","source":"/dir/agents/native.md","kind":"stdio","argv":["./server"],"env":{}}],"tools":["read","bash"],"deny":["write"],"system":"You are native.","argv":null,"credentials":[],"limits":{"maxSteps":9},"liveness":{"silentMs":300000},"wake":true,"restart":{"type":"permanent"},"capabilities":{"network":"off"}}",
      "{"name":null,"cwd":"/dir","env":{"PATH":"/usr/bin:/bin","HOME":"/nowhere","LANG":"C"},"interactive":true,"containment":"auto","intent":"work","agent":"acp","driver":"acp","model":"small","mcp":[{"name":"local","source":"/dir/agents/acp.md","kind":"stdio","argv":["./server"],"env":{}}],"tools":null,"deny":["bash"],"permissions":{"default":"deny","tools":{"execute":"ask"}},"mode":"plan","asks":true,"graceMs":2000,"system":"You are acp.","argv":["sh","acp"],"wake":true,"keepRaw":"all","gateway":"off","credentials":[],"limits":{"timeoutMs":3600000}}",
      "{"name":null,"cwd":"/dir","env":{"PATH":"/usr/bin:/bin","HOME":"/nowhere","LANG":"C"},"interactive":false,"containment":"auto","intent":"work","agent":"jsonLines","driver":"command","model":null,"system":null,"tools":null,"deny":[],"argv":["sh","-p","work"],"format":"claude","graceMs":3000,"keepRaw":"last","gateway":"auto","credentials":[],"limits":{},"reeve":true,"capabilities":{"network":"off","signals":"none"}}",
      "{"name":"three","cwd":"/dir","env":{"PATH":"/usr/bin:/bin","HOME":"/nowhere","LANG":"C"},"interactive":false,"containment":"auto","intent":"make it","agent":"command","driver":"command","model":null,"system":null,"tools":null,"deny":[],"argv":["make","it"],"credentials":[],"limits":{"timeoutMs":9},"gateway":"on"}",
    ]
  `)
})

/** Resumes a native agent that has these permissions. Returns its new spec. */
async function resumeNativeAgent(
  permissions: Permissions,
  body: ResumeBody,
  lists: Partial<ProcessSpec> = {},
): Promise<ProcessSpec | null> {
  const spec = { ...(await buildSpec(SCRIPT_SPAWN)), tools: null, deny: [], permissions, ...lists } as ProcessSpec
  return specs.applyOverrides({ uuid: uuidOf(1), spec }, body)
}

test('a tool that a resume of a native agent allows by name is added to the calls that need no ask', async () => {
  const resumed = await resumeNativeAgent({ default: 'ask', allow: ['edit'] }, { allow: ['bash'] })
  expect(resumed?.permissions).toEqual({ default: 'ask', allow: ['edit', 'bash'] })
})

test('a resume cannot allow a shell that would bypass a rule of the process', async () => {
  const permissions: Permissions = { default: 'allow', deny: ['edit(x)'] }
  await expect(resumeNativeAgent(permissions, { allow: ['bash'] }, { deny: ['bash'] })).rejects.toMatchObject({
    code: 'INVALID',
    message: '`edit(x)` could be bypassed by a command in bash, which does not ask here',
  })
})

test('a resume that allows a tool adds no permissions to a process that has none', async () => {
  const spec = await buildSpec(SCRIPT_SPAWN)
  const resumed = await specs.applyOverrides({ uuid: uuidOf(1), spec }, { allow: ['edit'] })
  expect(resumed).not.toHaveProperty('permissions')
})

test('a resume of a supervisor, a crew or a compose run cannot set a gateway', async () => {
  const supervisor = await buildSpec(SUPERVISOR_SPAWN)
  for (const driver of ['supervisor', 'crew', 'compose'] as const)
    await expect(
      specs.applyOverrides({ uuid: uuidOf(1), spec: { ...supervisor, driver } as ProcessSpec }, { gateway: 'on' }),
    ).rejects.toMatchObject({
      code: 'INVALID',
      message: `a ${driver} has no gateway: it calls no model itself`,
    })
})

test('a spec is read from the store byte for byte as it was written, whatever fields it has', async () => {
  await using fixture = await openTestStore()
  const commits = new CommitMaker()
  const compose = { file: '/reeve.yaml', nodes: [{ name: 'one', needs: [], retries: 0, template: kernelSpec() }] }
  const specsOfDrivers: ProcessSpec[] = [
    ...(await Promise.all(SPAWNS.map(buildSpec))),
    kernelSpec({ driver: 'crew', model: null, crew: { ...CREW_SPEC, roles: { generic: kernelSpec() } } }),
    kernelSpec({ driver: 'compose', model: null, compose }),
  ]
  const specsWithForeignFields = specsOfDrivers.map((spec) => ({
    ...spec,
    effort: 'low',
    format: 'codex',
    mode: 'plan',
    gateway: 'on',
    graceMs: 1,
    wake: true,
  }))
  const writtenSpecs = [...specsOfDrivers, ...specsWithForeignFields] as ProcessSpec[]
  for (const [index, spec] of writtenSpecs.entries()) await fixture.store.commit(commits.spawn(uuidOf(index + 1), spec))
  await fixture.reopen()
  for (const [index, spec] of writtenSpecs.entries()) {
    const row = await fixture.store.process(uuidOf(index + 1))
    expect(JSON.stringify(row?.spec)).toBe(JSON.stringify(spec))
    expect(specProblem(spec)).toBeNull()
  }
})
