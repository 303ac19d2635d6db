/** Commands of a document, as they stand in it. */
export type Block = { readonly heading: string; readonly text: string }

const HEADING_OR_FENCE = /^#+ +(?<heading>.+)$|^```(?<language>\S*)\n(?<text>[^]*?)^```$/gm

/** The fenced blocks of a language, word for word, each with the heading that it stands below. */
export function codeBlocks(markdown: string, language: string): Block[] {
  const blocks: Block[] = []
  let heading = ''
  for (const { groups = {} } of markdown.matchAll(HEADING_OR_FENCE)) {
    if (groups.heading !== undefined) heading = groups.heading
    else if (groups.language === language) blocks.push({ heading, text: groups.text ?? '' })
  }
  return blocks
}
