package terms

import "strings"

// commonWords are the words that say nothing about a message's subject. Apostrophes are left out.
var commonWords = set(`
	a an the this that these those it its he she they we you i me him her them us my your his their our
	mine yours hers theirs ours who whom whose what which when where why how
	am is are was were be been being do does did done doing have has had having can could will would shall should may might must
	and or but nor so if then than as of at by for from in into on onto to with without about over under after before
	not no yes there here just also too very some any all both each every such only own same more most other
	im ive id ill youre youve youll hes shes were theyre weve theyve thats whats heres theres lets
	dont doesnt didnt cant couldnt wont wouldnt isnt arent wasnt werent havent hasnt hadnt shouldnt
	ok okay hi hello hey please thanks thank
	http https www mailto`)

// commonPairs are the pairs of Hiragana that nearly every Japanese sentence has: endings of verbs,
// particles, and what joins them.
var commonPairs = set(`
	です ます した して ない なか って から こと てい いる いた いま あり ある する され れる れて られ
	ので のは のが のを のに ませ せん まし でし しょ ょう とか けど よう たい など まで より では には
	とは ても でも とい いう いい うか すか すが すね たら なら なる なっ なり もの をし にな がで とし
	くだ ださ さい ので ため だけ だっ った ころ おり てく そう この その あの どの これ それ あれ`)

func set(words string) map[string]bool {
	all := map[string]bool{}
	for _, word := range strings.Fields(words) {
		all[word] = true
	}
	return all
}
