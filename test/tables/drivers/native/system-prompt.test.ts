// The system prompt of a native agent: its role prompt, and the instructions of its repository.
import { expect, test } from 'vitest'
import { systemPromptOf } from '../../../../src/drivers/native/system-prompt.ts'

const ANY_TOOL = { tools: null, deny: [] }
const FILE = { path: '/r/AGENTS.md', name: 'AGENTS.md', sha256: 'x', text: 'Use tabs.' }

test('without instructions it is the role prompt', () => {
  expect(systemPromptOf({ ...ANY_TOOL, system: 'You review.' })).toBe('You review.')
  expect(systemPromptOf({ ...ANY_TOOL, system: null })).toBeNull()
})

test('the files follow the role prompt, in their order, with the note of a cut', () => {
  const nearest = { ...FILE, name: 'app/AGENTS.md', text: 'Use spaces.', isCut: true }
  expect(systemPromptOf({ ...ANY_TOOL, system: 'You review.', instructions: { files: [nearest, FILE] } })).toMatchInlineSnapshot(`
    "You review.

    # Instructions of the repository

    These files are the instructions of the repository for agents. Follow them. If two of them differ, the first one counts.

    <file name="app/AGENTS.md">
    Use spaces.
    </file>
    The rest of this file is left out.

    <file name="AGENTS.md">
    Use tabs.
    </file>"
  `)
  expect(systemPromptOf({ ...ANY_TOOL, system: null, instructions: { files: [FILE] } })).toMatch(/^# Instructions of the repository\n/)
})

test('the skills come last, in one line each, and only with the tool that loads them', () => {
  const skills = [
    { name: 'pdf', description: 'Reads PDF files.', path: '/r/.claude/skills/pdf/SKILL.md', sha256: 'x' },
    { name: 'release', description: 'Makes a release.', path: '/r/.claude/skills/release/SKILL.md', sha256: 'x' },
  ]
  expect(systemPromptOf({ ...ANY_TOOL, system: 'You review.', instructions: { files: [FILE] }, skills })).toMatch(
    /^You review\.\n\n# Instructions.*<\/file>\n\n# Skills\n\n.*\n\n- pdf: Reads PDF files\.\n- release: Makes a release\.$/s,
  )
  expect(systemPromptOf({ system: 'You review.', skills, tools: null, deny: ['skill'] })).toBe('You review.')
  expect(systemPromptOf({ system: null, skills, tools: ['read'], deny: [] })).toBeNull()
})

test('an agent that plans reads how, after its role prompt', () => {
  const prompt = systemPromptOf({ ...ANY_TOOL, system: 'You review.', permissions: { default: 'plan' } })
  expect(prompt).toMatch(/^You review\.\n\n# Planning\n\n.*`present_plan`/s)
  expect(systemPromptOf({ ...ANY_TOOL, system: 'You review.', permissions: { default: 'ask' } })).toBe('You review.')
})
