// Converts the results of MCP tools to texts and images for the model. Must never trust the type that a server states. Pure.
// Test: test/tables/drivers/mcp/tool-list.test.ts.
import type { CallToolResult } from '@modelcontextprotocol/client'
import type { ImagePart } from '../../kernel/model/facts.ts'
import { errorText } from '../../kernel/util/error-text.ts'
import { MAGIC_BYTES, findImageFormat, describeImage } from '../native/tools/image.ts'
import { ToolError } from '../native/tools/tool-error.ts'
import type { ToolOutput } from '../native/tools/tool.ts'

const MAX_IMAGES = 10

/** Converts the result of a call. `hide` removes secrets from a text. Errors: `ToolError` for a result that is marked as an error. */
export function toToolOutput(result: CallToolResult, hide: (text: string) => string): ToolOutput {
  const texts: string[] = []
  const images: ImagePart[] = []
  for (const part of result.content ?? []) {
    const { text, images: partImages } = convertPart(part, images.length < MAX_IMAGES)
    texts.push(text)
    images.push(...partImages)
  }
  if (texts.length === 0 && result.structuredContent !== undefined) texts.push(JSON.stringify(result.structuredContent))
  const text = hide(texts.join('\n'))
  if (result.isError === true) throw new ToolError(text || 'the tool failed without giving a reason')
  return { text, images }
}

type ContentPart = CallToolResult['content'][number]

function convertPart(part: ContentPart, canShowImage: boolean): ToolOutput {
  switch (part.type) {
    case 'text':
      return textOutput(part.text)
    case 'image':
      return canShowImage ? imageOutput(part.data) : textOutput('[one more image, not shown]')
    case 'audio':
      return textOutput(`[audio (${part.mimeType}), which cannot be played]`)
    case 'resource_link':
      return textOutput(`[${part.name}: ${part.uri}]${part.description ? ` ${part.description}` : ''}`)
    case 'resource':
      return textOutput(
        'text' in part.resource
          ? `[${part.resource.uri}]\n${part.resource.text}`
          : `[${part.resource.uri}: not text (${part.resource.mimeType ?? 'unknown type'})]`,
      )
  }
}

function textOutput(text: string): ToolOutput {
  return { text, images: [] }
}

/** Recognizes the image by its bytes, not by the type that the server states. An image that no model can read would stay in the context. */
function imageOutput(base64: string): ToolOutput {
  const data = Buffer.from(base64, 'base64')
  const format = findImageFormat(data.subarray(0, MAGIC_BYTES))
  if (format === null) return textOutput('[an image in a format that cannot be shown]')
  try {
    return describeImage(data, format)
  } catch (error) {
    return textOutput(`[${errorText(error)}]`)
  }
}
