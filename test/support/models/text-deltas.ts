// Cuts the texts of served answers into the parts that a stream sends, for all formats of test/support/models.

/** Cuts a text in its middle, because a stream may cut anywhere. A half without text is left out. */
export function splitInHalves(text: string): readonly string[] {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)].filter((half) => half !== '')
}
