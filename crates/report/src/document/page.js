(function(){'use strict';
var tip=document.getElementById('tip'),all=function(s,e){return Array.prototype.slice.call((e||document).querySelectorAll(s))};
function show(lines,x,y){tip.textContent='';lines.forEach(function(l,i){var e=document.createElement(i?'span':'b');e.textContent=l;tip.appendChild(e);if(i)tip.appendChild(document.createElement('br'))});
tip.hidden=false;var w=tip.offsetWidth,h=tip.offsetHeight;
tip.style.left=Math.max(4,Math.min(x+14,innerWidth-w-4))+'px';tip.style.top=(y-h-14<4?y+18:y-h-14)+'px'}
function hide(svg){tip.hidden=true;if(svg&&svg.near){svg.near.classList.remove('near','at');svg.near=null}}
function digits(v){return v<9.9995?v.toFixed(2):v<99.95?v.toFixed(1):v.toFixed(0)}
function time(s){return s<1e-6?digits(s*1e9)+'\u202fns':s<1e-3?digits(s*1e6)+'\u202f\u00b5s':s<1?digits(s*1e3)+'\u202fms':digits(s)+'\u202fs'}
function bytes(b){var u=['B','KiB','MiB','GiB','TiB'],i=0;while(i<4&&b>=1024&&b%1024===0){b/=1024;i++}return b+'\u202f'+u[i]}
// Titles are for pages without a script; with one, two hints would show.
function names(svg){if(svg.named)return;svg.named=true;all('title',svg).forEach(function(t){t.parentNode.name=t.textContent;t.parentNode.removeChild(t)})}
// A path of ours: M, m, l, h and v with whole numbers; gives its points, and whether the pen was lifted before each.
function points(d){var o=[],x=0,y=0,r=/([Mmlhv])(-?\d+)(?:[ ]?(-?\d+))?/g,m;
while((m=r.exec(d))){var a=+m[2],b=m[3]===undefined?0:+m[3];
if(m[1]==='M'){x=a;y=b}else if(m[1]==='h'){x+=a}else if(m[1]==='v'){y+=a}else{x+=a;y+=b}o.push([x,y,m[1]==='M'||m[1]==='m'])}return o}
function read(svg){if(svg.lines)return;names(svg);
var X=svg.dataset.x.split(' ').map(Number),Y=svg.dataset.y.split(' ').map(Number),xs=svg.dataset.xs.split(' ').map(Number);
var sec=function(y){return Math.pow(10,Y[2]+(Y[3]-Y[2])*(y-Y[0])/(Y[1]-Y[0]))};
var at=xs.map(function(v){return X[0]+(X[1]-X[0])*(Math.log(Math.max(v,.5))/Math.LN2-X[2])/(X[3]-X[2])});
svg.lines=all('g.l',svg).map(function(g){var p=all('path',g),iv=p[1]?points(p[1].getAttribute('d')):[];
return{g:g,name:g.name,p:p[0]?points(p[0].getAttribute('d')).map(function(q,i){var k=0;at.forEach(function(a,j){if(Math.abs(a-q[0])<Math.abs(at[k]-q[0]))k=j});
var lo=iv[2*i],hi=iv[2*i+1],w=lo&&hi&&hi[1]!==lo[1]&&Math.max(lo[1],hi[1])<Y[0]&&Math.min(lo[1],hi[1])>Y[1];return{x:q[0],y:q[1],v:xs[k],t:sec(q[1]),lo:w?sec(Math.max(lo[1],hi[1])):0,hi:w?sec(Math.min(lo[1],hi[1])):0}}):[]}});
svg.base=svg.lines.filter(function(l){return l.g.classList.contains('lb')})[0]}
function tell(svg,l,p){if(svg.near)svg.near.classList.remove('near');svg.near=l.g;l.g.classList.add('near');
var b=svg.base&&svg.base!==l&&svg.base.p.filter(function(q){return q.v===p.v})[0],box=svg.getBoundingClientRect(),k=box.width/svg.viewBox.baseVal.width;
var lines=[l.name,(svg.dataset.kind==='ranks'?p.v+' ranks':bytes(p.v))+': '+time(p.t)+(p.hi?' ('+time(p.lo)+' to '+time(p.hi)+')':'')];
if(b)lines.push('default: '+time(b.t));
show(lines,box.left+p.x*k,box.top+p.y*k)}
function seen(svg){var on=svg.closest('.pick');return svg.lines.filter(function(l){return l.p.length&&(!on||l.g.classList.contains('on'))})}
all('svg[data-xs]').forEach(function(svg){svg.tabIndex=0;
var move=function(e){read(svg);var box=svg.getBoundingClientRect(),k=svg.viewBox.baseVal.width/box.width,x=(e.clientX-box.left)*k,y=(e.clientY-box.top)*k,best=null,d=1600*1600;
seen(svg).forEach(function(l){l.p.forEach(function(p,i){var n=(p.x-x)*(p.x-x)+(p.y-y)*(p.y-y);if(n<=d){d=n;best=[l,p,i]}})});
if(best){svg.cur=[best[0],best[2]];tell(svg,best[0],best[1])}else hide(svg)};
svg.addEventListener('pointermove',move);svg.addEventListener('pointerdown',move);
svg.addEventListener('pointerleave',function(){hide(svg)});svg.addEventListener('blur',function(){hide(svg)});
svg.addEventListener('keydown',function(e){var dx={ArrowLeft:-1,ArrowRight:1}[e.key]||0,dy={ArrowUp:-1,ArrowDown:1}[e.key]||0;
if(e.key==='Escape')return hide(svg);if(!dx&&!dy)return;e.preventDefault();read(svg);var s=seen(svg);if(!s.length)return;
var c=svg.cur&&s.indexOf(svg.cur[0])>=0?svg.cur:null,l=c?c[0]:svg.base&&s.indexOf(svg.base)>=0?svg.base:s[0],i=c?c[1]:0;
if(c&&dx)i=Math.max(0,Math.min(l.p.length-1,i+dx));
if(c&&dy){var x=l.p[i].v,col=[];s.forEach(function(o){o.p.forEach(function(p,j){if(p.v===x)col.push([o,j,p.y])})});col.sort(function(a,b){return a[2]-b[2]});
var at=0;col.forEach(function(o,j){if(o[0]===l)at=j});var n=col[Math.max(0,Math.min(col.length-1,at+dy))];l=n[0];i=n[1]}
svg.cur=[l,i];tell(svg,l,l.p[i])})});
all('.map table').forEach(function(map){map.tabIndex=0;
var tiles=function(){all('td[title]',map).forEach(function(t){t.name=t.title;t.removeAttribute('title')});return all('td.t',map)};
var at=function(t){if(map.near)map.near.classList.remove('at');map.near=t;t.classList.add('at');var b=t.getBoundingClientRect(),i=t.name.indexOf(': ');
show(i<0?[t.name]:[t.name.slice(0,i)].concat(t.name.slice(i+2).split('; ')),b.left+b.width/2,b.top)};
var move=function(e){tiles();var t=e.target.closest('td.t');if(t)at(t);else hide(map)};
map.addEventListener('pointermove',move);map.addEventListener('pointerdown',move);
map.addEventListener('pointerleave',function(){hide(map)});map.addEventListener('blur',function(){hide(map)});
map.addEventListener('keydown',function(e){if(e.key==='Escape')return hide(map);var t=tiles(),d={ArrowLeft:-1,ArrowRight:1}[e.key],v={ArrowUp:-1,ArrowDown:1}[e.key];if(!d&&!v||!t.length)return;e.preventDefault();
var n=t[0],c=map.near;if(c&&d)n=t[Math.max(0,Math.min(t.length-1,t.indexOf(c)+d))];
if(c&&v){n=c;for(var r=c.parentNode;(r=v<0?r.previousElementSibling:r.nextElementSibling);)if(r.cells[c.cellIndex].matches('.t')){n=r.cells[c.cellIndex];break}}
at(n)})});
all('.legend').forEach(function(list){var sec=list.closest('details');list.addEventListener('click',function(e){var b=e.target.closest('button');if(!b)return;
b.setAttribute('aria-pressed',b.getAttribute('aria-pressed')!=='true');
var on=all('button[aria-pressed=true]',list).map(function(x){return x.dataset.name});sec.classList.toggle('pick',on.length>0);
all('.plots svg',sec).forEach(function(svg){names(svg);all('g.l',svg).forEach(function(g){g.classList.toggle('on',on.indexOf(g.name)>=0)})})})});
all('.copy').forEach(function(b){if(!navigator.clipboard)return;b.hidden=false;b.addEventListener('click',function(){navigator.clipboard.writeText(b.parentNode.querySelector('code').textContent).then(function(){b.textContent='copied';setTimeout(function(){b.textContent='copy'},1500)})})});
function reach(){var e=location.hash&&document.getElementById(decodeURIComponent(location.hash.slice(1)));if(!e)return;var d=e.closest('details');while(d){d.open=true;d=d.parentElement&&d.parentElement.closest('details')}e.scrollIntoView()}
addEventListener('hashchange',reach);reach();
var folded=[];addEventListener('beforeprint',function(){folded=all('details:not([open])');folded.forEach(function(d){d.open=true})});
addEventListener('afterprint',function(){folded.forEach(function(d){d.open=false})});
function wide(){all('.scroll').forEach(function(e){e.toggleAttribute('data-more',e.scrollWidth>e.clientWidth+1)})}
wide();addEventListener('resize',wide);addEventListener('toggle',wide,true);
addEventListener('scroll',function(){hide()},{passive:true});
})();
