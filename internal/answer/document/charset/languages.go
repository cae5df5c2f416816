package charset

import (
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// alphabets are the letters beyond ASCII of languages, in lower case.
var alphabets = []string{
	"äöüß",              // German
	"àâæçéèêëîïôœùûü",   // French
	"áéíóúüñ",           // Spanish
	"àáâãçéêíóôõú",      // Portuguese
	"àèéìîòù",           // Italian
	"àçèéíïòóúü",        // Catalan
	"áèéëïóöü",          // Dutch
	"åäöéšž",            // Swedish, Finnish
	"æøåé",              // Danish, Norwegian
	"áæéíðóöúýþ",        // Icelandic
	"äõöüšž",            // Estonian
	"ąćęłńóśźż",         // Polish
	"áčďéěíňóřšťúůýž",   // Czech
	"áäčďéíĺľňóôŕšťúýž", // Slovak
	"áéíóöőúüű",         // Hungarian
	"ăâîșşțţ",           // Romanian
	"čćđšž",             // Croatian, Slovene
	"çëğıöşüâî",         // Turkish, Albanian
	"ąčęėįšųūž",         // Lithuanian
	"āčēģīķļņšūž",       // Latvian
	"ĉĝĥĵŝŭ",            // Esperanto
	"ċġħż",              // Maltese
	"ŵŷâêîôûï",          // Welsh
	"àáâãèéêìíòóôõùúýăđĩũơư",               // Vietnamese
	"абвгдежзийклмнопрстуфхцчшщъыьэюяё",    // Russian
	"абвгґдеєжзиіїйклмнопрстуфхцчшщьюя",    // Ukrainian
	"абвгдежзійклмнопрстуўфхцчшыьэюяё",     // Belarusian
	"абвгдежзийклмнопрстуфхцчшщъьюя",       // Bulgarian
	"абвгдђежзијклљмнњопрстћуфхцчџш",       // Serbian
	"абвгдѓежзѕијклљмнњопрстќуфхцчџш",      // Macedonian
	"αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋΐΰ", // Greek
}

// frequent are the letters of other scripts than Latin that make up most of a text.
const frequent = "оеаинтсрвлкмдпуіяαοιετσνηυρπκμλ"

// seldom are letters of Latin script that stand in few words of the languages that have them.
const seldom = "ĺľŕđÿïëìò"

// The characters that make up most of a text, in no order that matters.
const (
	commonKanji = `一右雨円王音下火花貝学気九休玉金空月犬見五口校左三山子四糸字耳七車手十出女小上森人水正生青夕石赤千川先早草足村
大男竹中虫町天田土二日入年白八百文木本名目立力林六引羽雲園遠何科夏家歌画回会海絵外角楽活間丸岩顔汽記帰弓牛魚京
強教近兄形計元言原戸古午後語工公広交光考行高黄合谷国黒今才細作算止市矢姉思紙寺自時室社弱首秋週春書少場色食心新
親図数西声星晴切雪船線前組走多太体台地池知茶昼長鳥朝直通弟店点電刀冬当東答頭同道読内南肉馬売買麦半番父風分聞米
歩母方北毎妹万明鳴毛門夜野友用曜来里理話悪安暗医委意育員院飲運泳駅央横屋温化荷界開階寒感漢館岸起期客究急級宮球
去橋業曲局銀区苦具君係軽血決研県庫湖向幸港号根祭皿仕死使始指歯詩次事持式実写者主守取酒受州拾終習集住重宿所暑助
昭消商章勝乗植申身神真深進世整昔全相送想息速族他打対待代第題炭短談着注柱丁帳調追定庭笛鉄転都度投豆島湯登等動童
農波配倍箱畑発反坂板皮悲美鼻筆氷表秒病品負部服福物平返勉放味命面問役薬由油有遊予羊洋葉陽様落流旅両緑礼列練路和
愛案以衣位囲胃印英栄塩億加果貨課芽改械害各覚完官管関観願希季紀喜旗器機議求泣救給挙漁共協鏡競極訓軍郡径型景芸欠
結建健験固功好候航康告差菜最材昨札刷察参産散残士氏史司試児治辞失借種周祝順初松笑唱焼象照賞臣信成省清静席積折節
説浅戦選然争倉巣束側続卒孫帯隊達単置仲貯兆腸低底停的典伝徒努灯堂働特得毒熱念敗梅博飯飛費必票標不夫付府副粉兵別
辺変便包法望牧末満未脈民無約勇要養浴利陸良料量輪類令冷例歴連老労録圧移因永営衛易益液演応往桜恩可仮価河過賀快解
格確額刊幹慣眼基寄規技義逆久旧居許境均禁句群経潔件券険検限現減故個護効厚耕鉱構興講混査再災妻採際在財罪雑酸賛支
志枝師資飼示似識質舎謝授修述術準序招承証条状常情織職制性政勢精製税責績接設舌絶銭祖素総造像増則測属率損退貸態団
断築張提程適敵統銅導徳独任燃能破犯判版比肥非備俵評貧布婦富武復複仏編弁保墓報豊防貿暴務夢迷綿輸余預容略留領異遺
域宇映延沿我灰拡革閣割株干巻看簡危机揮貴疑吸供胸郷勤筋系敬警劇激穴絹権憲源厳己呼誤后孝皇紅降鋼刻穀骨困砂座済裁
策冊蚕至私姿視詞誌磁射捨尺若樹収宗就衆従縦縮熟純処署諸除将傷障城蒸針仁垂推寸盛聖誠宣専泉洗染善奏窓創装層操蔵臓
存尊宅担探誕段暖値宙忠著庁頂潮賃痛展討党糖届難乳認納脳派拝背肺俳班晩否批秘腹奮並陛閉片補暮宝訪亡忘棒枚幕密盟模
訳郵優幼欲翌乱卵覧裏律臨朗論込岡阪藤伊佐埼奈潟梨鹿茨栃阜媛沖縄頃誰彼俺僕為替払締請却繰越契更削箇称頼斎浜崎崇渡
沢瀬桑稲菊菅丘吉姫桃戻抜扱掛互御軸`
	commonHans = `的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然
家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把
机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果
加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔
更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展
马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共
确传师观清今切院让识候带导争运笔商货价订单号姓城京苹蕉香橙蔬菜肉鱼鸡蛋牛奶茶酒元角错误存状态未失败始束额项称备
注址邮箱网站登录户密码服器库查询删除修改添消返载印客供销售采购财职编标容型版测试环境配置参联您请谢吃喝买卖钱块
李刘陈杨黄赵吴周徐孙胡朱林郭罗梁宋郑韩唐冯董萧曹袁亚欧澳洲巴拿纳索托洛哥摩伊朗兰丹麦隆喀挪威瑞典芬英俄葡荷奥匈
捷波希腊土耳埃泰越缅甸菲律宾坡州省县镇乡村街巷楼层室深圳杭武汉津庆苏锡宁厦青岛济沈阳连春哈滨肯莱乌孟古柬塞浦刚
赞埔寨维朝鲜邓傅曾彭吕卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田姜范石姚谭廖邹熊`
	commonHant = `的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然
家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長把
機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利什二等產或新己制身果
加西斯月話合回特代內信表化老給世位次度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活爾
更別打女變四神總何電數安少報才結反受目太量再感建務做接必場件計管期市直德資命山金指克許統區保至隊形社便空決治展
馬科司五基眼書非則聽白卻界達光放強即像難且權思王象完設式色路記南品住告類求據程北邊死張該交規萬取拉格望覺術領共
確傳師觀清今切院讓識候帶導爭運筆商貨價訂單號姓城京台灣蘋蕉香橙蔬菜肉魚雞蛋牛奶茶酒元角錯誤檔案存狀態未失敗始束
額項稱備註址郵箱網站登密碼伺服器料庫查詢刪除修改增儲消返載列印客戶供銷售採購財職編標容型版測試環境參您請謝吃喝
買賣錢塊李劉陳楊黃趙吳周徐孫胡朱林郭羅梁宋鄭韓唐馮于董蕭曹袁亞歐澳洲巴拿納索托洛哥摩伊朗蘭丹麥隆喀挪威瑞典芬英
俄葡荷奧匈捷波希臘土耳埃泰越緬甸菲律賓坡州省縣鎮鄉村街巷樓層室雄桃園竹嘉投屏花蓮宜聯盟肯萊烏孟古柬塞浦剛津贊埔
寨維朝鮮鄧傅沈曾彭呂蘇盧蔣蔡賈丁魏薛葉閻余潘杜戴夏鐘汪田姜范石姚譚廖鄒熊`
)

// language is a bit of a set of languages.
type language = uint64

// The languages that are not written in letters.
const (
	ja language = 1 << iota
	hans
	hant
	ko
	every = ja | hans | hant | ko
)

// written says in which languages a character is common, and in which it is one that people write at all.
type written struct{ common, known language }

// characters are what is written in the languages without an alphabet, built once. What an encoding has in its first
// level counts as known: the levels were laid out by frequency.
var characters = sync.OnceValue(func() map[rune]written {
	of := make(map[rune]written, 8000)
	add := func(text string, common, known language) {
		for _, r := range text {
			w := of[r]
			of[r] = written{w.common | common, w.known | known}
		}
	}
	add(commonKanji, ja, ja)
	add(commonHans, hans, hans)
	add(commonHant, hant, hant)
	add(level(japanese.EUCJP, 0xB0, 0xCF, 0xA1), 0, ja)
	add(level(simplifiedchinese.GBK, 0xB0, 0xD7, 0xA1), 0, hans)
	add(level(traditionalchinese.Big5, 0xA4, 0xC6, 0x40), 0, hant)
	add(level(korean.EUCKR, 0xB0, 0xC8, 0xA1), 0, ko)
	return of
})

// level is what an encoding has from one first byte to another, with second bytes from trail on.
func level(e encoding.Encoding, from, to, trail byte) string {
	var body []byte
	for lead := from; lead <= to; lead++ {
		for second := int(trail); second < 0xFF; second++ {
			if second < 0x7F || second >= 0xA1 {
				body = append(body, lead, byte(second))
			}
		}
	}
	text, _ := e.NewDecoder().String(string(body)) // it cannot fail: what is not assigned becomes U+FFFD
	return text
}

// spelling is the set of alphabets that a letter is in, as bits by their position; 0: none.
var spelling = sync.OnceValue(func() map[rune]uint64 {
	of := map[rune]uint64{}
	for i, letters := range alphabets {
		for _, r := range letters {
			if r >= utf8.RuneSelf {
				of[r] |= 1 << i
			}
		}
	}
	return of
})
