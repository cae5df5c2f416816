package charset

import (
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// What the samples are written in. Two encodings that write a sample with the same bytes are one case.
var (
	western  = []string{"Windows-1252", "ISO-8859-1", "ISO-8859-15", "UTF-16LE", "UTF-16BE"}
	central  = []string{"Windows-1250", "ISO-8859-2", "UTF-16LE", "UTF-16BE"}
	russian  = []string{"Windows-1251", "KOI8-R", "UTF-16LE", "UTF-16BE"}
	nippon   = []string{"Shift_JIS", "EUC-JP", "ISO-2022-JP", "UTF-16LE", "UTF-16BE"}
	mainland = []string{"GBK", "UTF-16LE"}
	taiwan   = []string{"Big5", "UTF-16LE"}
	korea    = []string{"EUC-KR", "UTF-16LE"}
)

// encodings are what the samples are written with.
var encodings = map[string]encoding.Encoding{
	"Windows-1252": charmap.Windows1252, "ISO-8859-1": charmap.ISO8859_1, "ISO-8859-15": charmap.ISO8859_15,
	"CP850": charmap.CodePage850, "CP866": charmap.CodePage866, "Mac OS Roman": charmap.Macintosh,
	"Windows-1250": charmap.Windows1250, "ISO-8859-2": charmap.ISO8859_2,
	"Windows-1251": charmap.Windows1251, "KOI8-R": charmap.KOI8R,
	"Shift_JIS": japanese.ShiftJIS, "EUC-JP": japanese.EUCJP, "ISO-2022-JP": japanese.ISO2022JP,
	"GBK": simplifiedchinese.GBK, "Big5": traditionalchinese.Big5, "EUC-KR": korean.EUCKR,
	"UTF-16LE": unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "UTF-16BE": unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM),
}

// samples are short texts as people attach them.
var samples = []struct {
	language  string
	encodings []string
	texts     []string
}{
	{"German", western, []string{
		"Artikel;Menge\r\nKäse;12\r\nBär;3\r\n",
		"Käse",
		"Name,Straße\nMüller,Hauptstraße 5\n",
		"name: Jörg Köhler\nort: Zürich\n",
		"2026-11-27 09:13 ERROR Datei nicht gefunden: Übersicht.txt\n",
		"Größe;Preis\n12;3,50 €\n",
		"Schlüssel=Wert\ngültig=ja\n",
		"ÄNDERUNG;DATUM\nGEBÜHR;01.02.2026\n",
		"Temp;21 °C\nFläche;45 m²\n",
		"§ 5 Abs. 2 BGB\n",
		"Er sagte: „Das geht nicht.“\n",
		"Öl;1\n",
		"für;gegen\n3;4\n",
		"GRÜSSE\n",
		"TÜV SÜD\n",
		"100€\n",
		"½ Liter\n",
		"level=error msg=\"Zugriff verweigert für jürgen\"\n",
	}},
	{"German of a console", []string{"CP850"}, []string{
		"Artikel;Menge\r\nKäse;12\r\nBär;3\r\n",
		"Zugriff verweigert: Schlüssel nicht verfügbar\r\nÜberprüfen Sie die Größe\r\n",
	}},
	{"French", western, []string{
		"Article;Quantité\r\nPâté;12\r\nCrème brûlée;3\r\n",
		"prénom,nom\nHélène,Lefèvre\nFrançois,Noël\n",
		"date: 27 février\nétat: terminé\n",
		"ERREUR: fichier déjà supprimé\n",
		"L’été à Besançon : 12 € l’entrée\n",
		"Prix : 3,50 €\n",
		"sœur;cœur\n1;2\n",
		"ça va\n",
		"N°;Désignation\n1;Écrou\n",
	}},
	{"Spanish", western, []string{
		"Artículo;Cantidad\r\nJamón;12\r\nPiña;3\r\n",
		"nombre,año\nMuñoz,2026\n",
		"¿Cuándo es la reunión? ¡Mañana!\n",
		"estado: aprobación pendiente\n",
		"ERROR: contraseña inválida\n",
		"niño;1\n",
	}},
	{"Portuguese", western, []string{
		"Produto;Preço\nPão;2\nMaçã;3\n",
		"nome: João\ncidade: São Paulo\n",
		"ERRO: configuração não encontrada\n",
	}},
	{"Italian", western, []string{
		"città;età\nForlì;30\n",
		"Perché no? È già pronto.\n",
	}},
	{"Swedish", western, []string{
		"Namn;Ålder\nSjöberg;41\n",
		"fel: filen är låst på disk\n",
	}},
	{"Danish", western, []string{
		"Vare;Antal\nRødgrød;2\nSmørrebrød;4\n",
		"ære,håb,øl\n",
	}},
	{"Finnish", western, []string{"Pöytä;4\nTyö;kesäkuu\n"}},
	{"Icelandic", western, []string{"Nafn;Staður\nÞórður;Ísafjörður\n"}},
	{"English", western, []string{
		"item,price\nCoffee,£3\n",
		"It’s fine – “really”…\n",
		"café,1\nrésumé,2\n",
		"(c) © 2026 Acme™\n",
		"Zoë,Brontë\n",
		"temp 21°C ± 2\n",
	}},
	{"Polish", central, []string{
		"Nazwa;Ilość\nŻółty ser;12\nŚliwka;3\n",
		"imię: Łukasz\nmiasto: Kraków\n",
		"błąd: nie można otworzyć pliku\n",
		"Gdańsk,Łódź,Wrocław\n",
		"źródło;cena\nświeże jajka;5 zł\n",
		"gęś\n",
		"Zażółć gęślą jaźń\n",
	}},
	{"Czech", central, []string{
		"Zboží;Množství\nSýr;12\nŘepa;3\n",
		"jméno: Jiří Dvořák\nměsto: Plzeň\n",
		"chyba: soubor nebyl nalezen, zkuste to později\nuživatel: Šárka\n",
		"Příliš žluťoučký kůň úpěl ďábelské ódy\n",
	}},
	{"Hungarian", central, []string{
		"Név;Összeg\nSzűcs;12\nKőszegi;3\n",
		"hiba: a fájl nem található, kérjük később újra\nfelhasználó: Győző\n",
	}},
	{"Slovak", central, []string{"Názov;Množstvo\nMäso;12\nŠťava;3\nVýťah;1\n"}},
	{"Croatian", central, []string{"Naziv;Količina\nČokolada;3\nŠećer;12\nĐumbir;1\n"}},
	{"Russian", russian, []string{
		"Товар;Количество\r\nСыр;12\r\nХлеб;3\r\n",
		"сыр;12\n",
		"имя: Алексей Иванов\nгород: Москва\n",
		"2026-11-27 09:13 ОШИБКА файл не найден\n",
		"да;нет\n1;0\n",
		"Привет, мир!\n",
		"ИТОГО;150 руб.\n",
		"ещё,ёлка,подъезд\n",
		"СЧЁТ № 5\n",
	}},
	{"Ukrainian", russian[:1], []string{"Назва;Кількість\nЇжа;12\nЄвген;3\n"}},
	{"Bulgarian", russian[:1], []string{"Име;Град\nГеорги;Пловдив\n"}},
	{"Japanese", nippon, []string{
		"商品,数量\nりんご,12\nみかん,3\n",
		"商品,数量\r\n林檎,12\r\n蜜柑,3\r\n",
		"氏名,部署\n田中太郎,営業部\n佐藤花子,総務部\n",
		"東京\n",
		"はい\n",
		"名前: 鈴木\n都市: 大阪\n",
		"2026-11-27 09:13 ERROR ファイルが見つかりません\n",
		"エラー: 接続に失敗しました。\n",
		"日付,金額\n11月27日,1500円\n",
		"データ\n",
		"ID,状態\n1,完了\n2,未完了\n",
		"請求書の締め日は二十日です。\n",
		"CPU使用率,80%\n",
		"株式会社山田製作所\n",
		"済\n",
		"あ\n",
		"x軸,y軸\n",
		"A社,B社\n",
		"ＡＢＣ\n",
		"品番,品名\nA-1,ネジ\n",
		"※注意：３個\n",
		"Web会議,PDFファイル\n",
	}},
	{"Japanese in half width", []string{"Shift_JIS"}, []string{
		"ｶ)ﾔﾏﾀﾞｼｮｳｼﾞ,1500\n",
		"口座名義,ﾀﾅｶ ﾀﾛｳ\n",
		"ｴﾗｰ\nﾃﾞｰﾀﾅｼ\n",
		"ｱｲｳ,ABC\n",
	}},
	{"Japanese of Windows", []string{"Shift_JIS"}, []string{
		"①受注,②出荷\n㈱山田\n髙橋\n",
		"表示,機能,能力\n",
	}},
	{"Chinese", mainland, []string{
		"商品,数量\n苹果,12\n香蕉,3\n",
		"姓名: 王小明\n城市: 北京\n",
		"错误: 文件不存在\n",
		"你好，世界\n",
		"日期;金额\n11月27日;1500元\n",
		"状态,完成\n",
		"联通\n",
	}},
	{"Chinese of Taiwan", taiwan, []string{
		"商品,數量\n蘋果,12\n香蕉,3\n",
		"姓名: 王小明\n城市: 台北\n",
		"錯誤: 檔案不存在\n",
		"你好，世界\n",
		"日期;金額\n11月27日;1500元\n",
	}},
	{"Korean", korea, []string{
		"상품,수량\n사과,12\n바나나,3\n",
		"이름: 김철수\n도시: 서울\n",
		"오류: 파일을 찾을 수 없습니다\n",
		"안녕하세요\n",
		"날짜;금액\n11월27일;1500원\n",
	}},
}
