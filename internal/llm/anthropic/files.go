package anthropic

import (
	sdk "github.com/anthropics/anthropic-sdk-go"

	"myao/internal/llm"
)

// user is the content of the message with the prompt, after the files that go with it.
func user(files []llm.File, prompt string) []sdk.ContentBlockParamUnion {
	return append(blocks(files), sdk.NewTextBlock(prompt))
}

// blocks shows files, each after its name.
func blocks(files []llm.File) []sdk.ContentBlockParamUnion {
	var all []sdk.ContentBlockParamUnion
	for _, f := range files {
		block := sdk.NewImageBlockBase64(f.MIME, f.Base64())
		if f.MIME == llm.PDF {
			block = sdk.NewDocumentBlock(sdk.Base64PDFSourceParam{Data: f.Base64()})
		}
		all = append(all, sdk.NewTextBlock(f.Label()), block)
	}
	return all
}
