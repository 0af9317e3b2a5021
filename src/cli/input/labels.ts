// Labels on the command line: `KEY=VALUE`, or `KEY` alone. Test: test/tables/cli/input/labels.test.ts.
import { UsageError } from '../errors.ts'

/** Parses the labels of a new process; undefined: none are given. A label without a value has the empty value. */
export function parseLabels(texts: readonly string[]): Record<string, string> | undefined {
  return texts.length === 0 ? undefined : Object.fromEntries(texts.map(parseLabel))
}

/** Parses changes of labels: `KEY-` removes a label, so its value is null. */
export function parseLabelChanges(texts: readonly string[]): Record<string, string | null> {
  return Object.fromEntries(texts.map((text) => (/^[^=]+-$/.test(text) ? [text.slice(0, -1), null] : parseLabel(text))))
}

/** Returns a test for the labels of a process, which must have all given labels. `KEY` alone matches any value. */
export function labelFilter(texts: readonly string[]): (labels: Readonly<Record<string, string>>) => boolean {
  const wanted = texts.map((text) => ({ label: parseLabel(text), hasValue: text.includes('=') }))
  return (labels) => wanted.every(({ label: [key, value], hasValue }) => Object.hasOwn(labels, key) && (!hasValue || labels[key] === value))
}

function parseLabel(text: string): [key: string, value: string] {
  const [key = '', ...rest] = text.split('=')
  if (key === '') throw new UsageError(`"${text}" is not a label`, 'Write it as KEY=VALUE, or as KEY alone.')
  const value = rest.join('=')
  // Probably a list, which other flags and tools accept. The second label would silently become part of the first value.
  if (/,[\w.-]+=/.test(value))
    throw new UsageError(`"${text}" looks like several labels in one`, 'Give each by itself: repeat the flag, or separate them by spaces.')
  return [key, value]
}
