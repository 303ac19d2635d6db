import { expect, it } from 'vitest'
import { codeBlocks } from './markdown.ts'

it('the code blocks of a document are those of the language, word for word, below their headings', () => {
  const text = '```sh\nmake a\n\n# b\n```\n\n## Two\n\n```json\n{}\n```\n\n```sh\n  c\n```\n```sh\nd\n```\n'
  expect(codeBlocks(text, 'sh')).toEqual([
    { heading: '', text: 'make a\n\n# b\n' },
    { heading: 'Two', text: '  c\n' },
    { heading: 'Two', text: 'd\n' },
  ])
})
