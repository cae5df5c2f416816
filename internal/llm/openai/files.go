package openai

import (
	sdk "github.com/openai/openai-go/v3"

	"myao/internal/llm"
)

// user is the message with the prompt, after the files that go with it. Without files it is a plain
// string, since many servers take nothing else.
func user(files []llm.File, prompt string) sdk.ChatCompletionMessageParamUnion {
	if len(files) == 0 {
		return sdk.UserMessage(prompt)
	}
	return sdk.UserMessage(append(parts(files), sdk.TextContentPart(prompt)))
}

// parts shows files, each after its name.
func parts(files []llm.File) []sdk.ChatCompletionContentPartUnionParam {
	var all []sdk.ChatCompletionContentPartUnionParam
	for _, f := range files {
		data := "data:" + f.MIME + ";base64," + f.Base64()
		part := sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{URL: data})
		if f.MIME == llm.PDF {
			part = sdk.FileContentPart(sdk.ChatCompletionContentPartFileFileParam{FileData: sdk.String(data),
				Filename: sdk.String(f.PDFName())})
		}
		all = append(all, sdk.TextContentPart(f.Label()), part)
	}
	return all
}
